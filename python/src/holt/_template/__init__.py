"""The description of templates: steps, Dockerfiles, and the files that a build reads."""
