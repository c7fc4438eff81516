FROM {{registry}}/base:1
ENV Mixed=Case
RUN echo "" > /undeclared; echo "case Case" > /mixed
WORKDIR /w
COPY a.txt .
COPY a.txt /again
