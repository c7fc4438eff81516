printf 'gzip of a text' | gzip -n > single.gz
printf '\037\213 not really' > half.tar.gz
