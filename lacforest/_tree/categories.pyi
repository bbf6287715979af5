# Other compiled modules cimport its functions: Python sees an empty module.
