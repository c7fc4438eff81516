"""The bridge of the template code-interpreter: HTTP in front of Jupyter kernels."""
