FROM {{registry}}/base:1

RUN echo gone > /kept
RUN mkdir /under && echo stays > /under/file
RUN touch /empty && echo file > /under-again
