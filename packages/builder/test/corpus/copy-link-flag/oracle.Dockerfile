FROM {{registry}}/base:1

COPY a /linked/a
COPY --chown=5:6 tree /linked/tree
