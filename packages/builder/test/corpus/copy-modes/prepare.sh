touch set sticky private
chmod 6755 set
chmod 1777 sticky
chmod 400 private
mkdir -m 750 dir && touch dir/inside
mkdir empty
touch -d @1000000000 old
