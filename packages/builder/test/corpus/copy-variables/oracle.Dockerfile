FROM {{registry}}/base:1

COPY a.txt /target/
COPY a.txt /target/renamed-x
WORKDIR /target
COPY --chown=6:7 a.txt own/
