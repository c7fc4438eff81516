FROM {{registry}}/base:1

COPY packed.tar.gz /kept/
ADD packed.tar.gz /unpacked/
