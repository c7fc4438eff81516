import { run } from './machine.ts'

/** The programs that steps of tests use. */
const programs =
  'sh bash dash env cat ls cp mv rm mkdir rmdir chmod chown chgrp ln readlink touch stat find grep sed tar gzip id whoami pwd ' +
  'printf echo test true false sleep head tail wc sort uniq date dd mkfifo install tee tr cut seq sha256sum du df basename dirname ' +
  'useradd groupadd usermod hostname setfattr getfattr truncate sync xargs expr uname nproc od diff cmp awk mawk'

const script = `
cd "$1"
mkdir -p usr/bin usr/sbin usr/lib usr/lib64 etc root tmp var/lib var/tmp run home proc sys dev opt srv
for each in bin sbin lib lib64; do ln -s usr/$each $each; done
chmod 1777 tmp var/tmp; chmod 700 root
shift
for program; do
  path=$(command -v "$program" || true)
  case $path in /*) ;; *) path=/usr/bin/$program ;; esac
  [ -e "$path" ] || continue
  cp -L "$path" usr/bin/"$program"
  ldd "$path" 2>/dev/null | grep -o '/[^ ]*' | while read -r library; do
    case $library in /lib/*|/lib64/*) library=/usr$library ;; esac
    [ -e ".$library" ] || { mkdir -p ".$(dirname "$library")"; cp -L "$library" ".$library"; }
  done
done
cat > etc/passwd <<EOF
root:x:0:0:root:/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
EOF
cat > etc/group <<EOF
root:x:0:
daemon:x:1:
staff:x:50:
nogroup:x:65534:
EOF
touch etc/shadow etc/gshadow etc/subuid etc/subgid
printf 'UID_MIN 1000\\nUID_MAX 60000\\nGID_MIN 1000\\nGID_MAX 60000\\nUSERGROUPS_ENAB yes\\nUMASK 022\\nHOME_MODE 0755\\n' > etc/login.defs
printf 'passwd: files\\ngroup: files\\n' > etc/nsswitch.conf
printf 'PRETTY_NAME="Small"\\nID=small\\n' > etc/os-release
find . -exec touch -h -d @1700000000 {} +
`

/** Makes a small system in an empty directory, of programs that this machine has. */
export function makeSmallBase(dir: string): void {
  run(['bash', '-euc', script, 'bash', dir, ...programs.split(' ')])
}
