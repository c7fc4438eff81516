FROM {{registry}}/base:1

RUN mkdir /made; echo "$HOME" > /made/home; printf '  indented 2\n' > /made/text
RUN name=shell; echo "${name}" > /quoted
RUN echo one > /tabs; echo two >> /tabs
