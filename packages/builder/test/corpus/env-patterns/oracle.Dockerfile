FROM {{registry}}/base:1

ENV base=app-1.2.tar.gz dir=/srv stem=/srv/app-1 rest=1.2.tar.gz
ENV first=/sRv/app-1.2.tar.gz all=/srv/App-1.2.tAr.gz cut=/srv/app-1.2.tar
RUN printf '[%s]\n' "$base" "$dir" "$stem" "$rest" "$first" "$all" "_srv_app-1.2.tar.gz" "$cut" "" unset set "" 1 1 > /env
