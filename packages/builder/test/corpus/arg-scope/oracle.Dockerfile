FROM {{registry}}/base:1

RUN echo "[]" > /third && echo "[one]" > /first && echo "[one]" > /second
