/**
 * The file with the longest pause of the program, in seconds. Deleting it resets the program's
 * maximum.
 */
export const gapFile = '/tmp/gap'

/** The interval at which the program reads the clock, in seconds. */
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

/** Returns a program that holds `mib` MiB of incompressible memory and measures its own pauses. */
export function heapProgram(mib: number): readonly string[] {
  return ['/usr/bin/perl', '-e', script, String(mib)]
}
