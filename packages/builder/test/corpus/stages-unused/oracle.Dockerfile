FROM {{registry}}/base:1

RUN echo fine > /fine
