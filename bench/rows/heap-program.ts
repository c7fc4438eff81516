/**
 * Where the program says the longest time that it stood still, in seconds. Whoever removes the file
 * has it begin anew.
 */
export const gapFile = '/tmp/gap'

/** How often the program looks at the clock. */
const tickSecs = 0.005

const script = `
use Time::HiRes qw(time);
open(my $random, '<', '/dev/urandom') or die; binmode $random;
my ($heap, $left) = ('', shift() * 1048576);
while ($left > 0) { my $n = sysread($random, $heap, $left > 1048576 ? 1048576 : $left, length $heap); die unless $n; $left -= $n }
my ($last, $longest) = (time, 0);
while (1) {
  select(undef, undef, undef, ${tickSecs});
  my $now = time;
  $longest = 0 unless -e '${gapFile}';
  if ($now - $last > $longest) {
    $longest = $now - $last;
    open(my $file, '>', '${gapFile}.new') or die; print $file $longest; close $file; rename('${gapFile}.new', '${gapFile}') or die;
  }
  $last = $now;
}
`

/**
 * A program that holds so much memory that nothing can make smaller, and notices when it stands
 * still.
 */
export function heapProgram(mib: number): readonly string[] {
  return ['/usr/bin/perl', '-e', script, String(mib)]
}
