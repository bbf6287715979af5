"""The coded columns of a fit, by column and, where it pays, row by row; and the values of codes."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uintptr_t

from lacforest._tree.types cimport MOST_DRAWN_CODES, MOST_ROW_CODES, code_t

import numpy as np

cdef enum:
    MOST_CATEGORIES = 16    # of most columns, beyond which whole rows do not pay
    COPIED_ROWS = 256       # at a time: they stay in the cache


cdef class CodedColumns:
    """Rank codes of every column, shared read-only by all trees and threads.

    Parameters
    ----------
    columns : sequence of uint8, uint16 or uint32 arrays of shape (n_rows,)
    n_codes : uint32 array of shape (n_features,)
        Distinct values of each column; this code itself marks a missing value.
    has_missing : uint8 array of shape (n_features,)
        Whether any row of the column is missing.
    is_categorical : uint8 array of shape (n_features,) or None, default=None
        Whether the codes of the column are categories, which have no order. None: no column's are.
    """

    def __cinit__(self, columns, n_codes, has_missing, is_categorical=None):
        # Checks of a masked array would pass over the masked codes.
        self.columns = tuple(np.asarray(column) for column in columns)
        self.n_codes = np.ascontiguousarray(n_codes, dtype=np.uint32)
        self.has_missing = np.ascontiguousarray(has_missing, dtype=np.uint8)
        categorical = np.zeros(len(self.columns)) if is_categorical is None else is_categorical
        self.is_categorical = np.ascontiguousarray(categorical, dtype=np.uint8)
        if (
            len({column.shape for column in self.columns}) != 1
            or self.n_codes.shape != (len(self.columns),)
            or self.has_missing.shape != self.n_codes.shape
            or self.is_categorical.shape != self.n_codes.shape
        ):
            raise ValueError(
                "columns must be equally long, with one entry of n_codes, has_missing and "
                "is_categorical each"
            )
        for feature, column in enumerate(self.columns):
            _check_column(feature, column, self.n_codes[feature], self.has_missing[feature])
        self._addresses = np.array([c.ctypes.data for c in self.columns], dtype=np.uintp)
        self._widths = np.array([c.itemsize for c in self.columns], dtype=np.uint8)
        cdef const uintptr_t[::1] addresses = self._addresses
        cdef const uint8_t[::1] widths = self._widths
        cdef const code_t[::1] codes = self.n_codes
        cdef const uint8_t[::1] missing = self.has_missing
        cdef const uint8_t[::1] flags = self.is_categorical
        self.table.column = &addresses[0]
        self.table.width = &widths[0]
        self.table.n_codes = &codes[0]
        self.table.has_missing = &missing[0]
        self.table.is_categorical = &flags[0]
        self.table.n_features = <int32_t> len(self.columns)
        self.table.n_rows = self.columns[0].shape[0]
        self.most_codes = self.n_codes.max()
        self.most_categories = np.where(self.is_categorical, self.n_codes, 0).max()

    def copy_rows(self, int64_t n_drawn, bint are_random):
        """Hold the codes row by row as well, if the search of a node reads them faster so.

        It does where all codes have one byte and no value is missing: for random cuts with up to 64
        columns, unless most of these have many categories; for any cuts with more columns, if none
        is categorical and up to 128 are drawn.

        Parameters
        ----------
        n_drawn : int
            Columns drawn for a node.
        are_random : bool
            Whether one random cut of each is tried, or every cut.
        """
        cdef const uint8_t* column
        cdef uint8_t[:, ::1] rows
        cdef int64_t first, i
        cdef int32_t feature
        if self.rows is not None or self.has_missing.any() or (self._widths > 1).any():
            return
        if self.table.n_features > MOST_ROW_CODES:
            pays = n_drawn <= MOST_DRAWN_CODES and not self.is_categorical.any()
        else:
            have_many = self.is_categorical & (self.n_codes > MOST_CATEGORIES)
            pays = are_random and have_many.mean() <= 0.5
        if not pays:
            return
        self.table.row_width = 16 * ((self.table.n_features + 15) // 16)
        self.rows = rows = np.zeros((self.table.n_rows, self.table.row_width), dtype=np.uint8)
        for first in range(0, self.table.n_rows, COPIED_ROWS):
            for feature in range(self.table.n_features):
                column = <const uint8_t*> self.table.column[feature]
                for i in range(first, min(first + COPIED_ROWS, self.table.n_rows)):
                    rows[i, feature] = column[i]
        self.table.row_codes = &rows[0, 0]


def _check_column(feature, column, n_codes, has_missing):
    if column.dtype not in (np.uint8, np.uint16, np.uint32):
        raise ValueError(f"column {feature} must hold unsigned codes, got {column.dtype}")
    if column.ndim != 1 or not 1 <= len(column) < 2**32 or not column.flags.c_contiguous:
        raise ValueError(f"column {feature} must be a contiguous vector of 1 to 2**32 - 1 codes")
    largest = column.max()
    if largest > n_codes:
        raise ValueError(f"column {feature} has code {largest}, but {n_codes} distinct values")
    if largest == n_codes and not has_missing:
        raise ValueError(f"column {feature} has missing values, but has_missing is false")


cdef class ColumnValues:
    """The distinct values of every column, between which random cuts are drawn.

    Parameters
    ----------
    values : sequence of float64 arrays
        One per column of the CodedColumns they belong to, ascending: entry c is that of code c.
    """

    def __cinit__(self, values):
        self.values = tuple(np.ascontiguousarray(v, dtype=np.float64) for v in values)
        if not self.values or any(v.ndim != 1 for v in self.values):
            raise ValueError("values must be one vector per column")
        if not all((v[: len(v) - 1] < v[1:]).all() for v in self.values):
            raise ValueError("values of a column must ascend")
        self._addresses = np.array([v.ctypes.data for v in self.values], dtype=np.uintp)
        self._n_codes = np.array([len(v) for v in self.values])
        cdef const uintptr_t[::1] addresses = self._addresses
        self.addresses = &addresses[0]

    cdef int check_columns(self, CodedColumns columns) except -1:
        """Raise ValueError unless there is a value for every code."""
        if not np.array_equal(self._n_codes, columns.n_codes):
            raise ValueError("ColumnValues must have one value per code of every column")
        return 0
