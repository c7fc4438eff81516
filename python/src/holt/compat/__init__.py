"""Parts with the interface of Python's own library."""
