FROM {{registry}}/base:1

COPY src/deep/one.txt /whole/src/deep/
COPY src/deep/one.txt src/deep/two.txt /part/deep/
COPY src/deep/one.txt /both/src/deep/
COPY other /both/other
