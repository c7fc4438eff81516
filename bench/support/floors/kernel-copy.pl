# Moves bytes with splice(2), so that no byte passes through a program.
#   kernel-copy.pl through SOURCE DESTINATION: moves a file over a TCP connection on loopback into a
#     file, and prints the milliseconds that it took.
#   kernel-copy.pl relay PORT: joins each connection to one to 127.0.0.1:PORT. Prints its own port.
use strict;
use warnings;
use POSIX ();
use Socket;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

my $machine = (POSIX::uname())[4];
my $splice = $machine eq 'x86_64' ? 275 : $machine eq 'aarch64' ? 76 : die "no number of splice for $machine\n";
my $most = 1 << 20;
my $set_pipe_size = 1031;

sub piece {
    my ($from, $to, $bytes) = @_;
    while (1) {
        my $moved = syscall($splice, fileno $from, 0, fileno $to, 0, $bytes, 1);
        return $moved if $moved >= 0;
        die "splice: $!\n" unless $!{EINTR};
    }
}

sub move_all {
    my ($from, $to) = @_;
    pipe(my $out, my $in) or die "pipe: $!\n";
    fcntl $in, $set_pipe_size, $most;    # The default size works as well.
    while (my $bytes = piece($from, $in, $most)) {
        $bytes -= piece($out, $to, $bytes) while $bytes > 0;
    }
}

sub listening {
    socket(my $socket, PF_INET, SOCK_STREAM, 0) or die "socket: $!\n";
    bind($socket, pack_sockaddr_in(0, INADDR_LOOPBACK)) or die "bind: $!\n";
    listen($socket, 128) or die "listen: $!\n";
    return ($socket, (unpack_sockaddr_in(getsockname $socket))[0]);
}

sub connected {
    my ($port) = @_;
    socket(my $socket, PF_INET, SOCK_STREAM, 0) or die "socket: $!\n";
    connect($socket, pack_sockaddr_in($port, INADDR_LOOPBACK)) or die "connect: $!\n";
    setsockopt($socket, Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1);
    return $socket;
}

sub in_child {
    my ($work) = @_;
    my $pid = fork // die "fork: $!\n";
    return $pid if $pid;
    my $failed = eval { $work->(); 1 } ? 0 : 1;
    print STDERR $@ if $failed;
    POSIX::_exit($failed);
}

my ($mode, @args) = @ARGV;
if ($mode eq 'through') {
    my ($source, $destination) = @args;
    open(my $from, '<:raw', $source) or die "$source: $!\n";
    open(my $to, '>:raw', $destination) or die "$destination: $!\n";
    my ($listener, $port) = listening();
    my $start = clock_gettime(CLOCK_MONOTONIC);
    my $sender = in_child(sub { move_all($from, connected($port)) });
    accept(my $peer, $listener) or die "accept: $!\n";
    move_all($peer, $to);
    waitpid($sender, 0);
    die "the sender has failed\n" if $?;
    printf "%.3f\n", 1000 * (clock_gettime(CLOCK_MONOTONIC) - $start);
} elsif ($mode eq 'relay') {
    my ($listener, $port) = listening();
    $SIG{CHLD} = 'IGNORE';
    $| = 1;
    print "$port\n";
    my $parent = in_child(sub {
        while (accept(my $peer, $listener)) {
            setsockopt($peer, Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1);
            my $target = connected($args[0]);
            in_child(sub { eval { move_all($peer, $target) }; shutdown $target, 1 });
            in_child(sub { eval { move_all($target, $peer) }; shutdown $peer, 1 });
        }
    });
    # Its children end with their connections; the listener ends with its parent's input.
    my $gone = <STDIN>;
    kill 'KILL', $parent;
} else {
    die "no such mode: $mode\n";
}
