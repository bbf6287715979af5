# Everything here is cimported: Python sees an empty module.
