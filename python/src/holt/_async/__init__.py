"""The asynchronous client. The synchronous one is made of it by `hatch_build.py`."""
