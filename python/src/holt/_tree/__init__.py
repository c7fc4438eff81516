"""Directory trees of this machine: reading them, and writing what a runtime sends."""
