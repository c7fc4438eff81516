mkdir ünïcode && echo 1 > ünïcode/ö
for name in -dash a=b '#hash' $'tab\there' 'quote"s' 'back\slash' .hidden $'new\nline' ' space ' "$(printf 'n%.0s' {1..250})"; do
  printf '%s' "$name" > "./$name"
done
