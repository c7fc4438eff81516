FROM {{registry}}/base:1 AS made
RUN mkdir /made && printf '#!/bin/sh\necho one\n' > /made/one.sh && echo two > /made/two.txt
FROM {{registry}}/base:1
RUN printf 'hello "world", it%ss here\n\ta tab, a $dollar and a \\ backslash\n' "'" > /greeting
RUN printf '%s\n' 'hello $who \n' > /literal
COPY --from=made --chmod=755 --chown=3:4 /made/one.sh /made/two.txt /files/
RUN mkdir /mixed && echo document > /mixed/EOF
COPY a.txt /mixed/
