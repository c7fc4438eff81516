FROM {{registry}}/base:1

COPY tree /tree
RUN rm -r /tree/a.skip /tree/cache
COPY tree /deep
RUN rm /deep/a.skip /deep/sub/b.skip
COPY a.txt /txt/
