FROM {{registry}}/base:1

RUN printf 'hello world\n  and $who\n' > /expanded
RUN printf 'hello $who\n' > /literal; echo LOUD > /upper
RUN printf 'a\nb\n' > /sorted
