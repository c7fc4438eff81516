FROM {{registry}}/base:1

COPY tree /tree
RUN cat /tree/a /tree/sub/b > /out && echo tree > /listing && echo data > /copied && cat /tree/a > /single
RUN printf 'a\nsub\nwritten\n' > /written && printf 'a\nsub\n' > /covering && rm -r /tree
RUN mkdir /covered && echo below > /covered/below && ls /covered > /uncovered
