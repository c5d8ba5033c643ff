# The same as docker_forward_inner.py for images with perl and without python3. Core modules only.
#     perl forward.pl ADDRESS:PORT=SOCKET ...
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;
use Socket qw(SOL_SOCKET SO_LINGER);

$SIG{TERM} = 'IGNORE';
$SIG{PIPE} = 'IGNORE';
my (%path, %peer, %waiting, %over);
my $reading = IO::Select->new;
my $writing = IO::Select->new;
for my $word (@ARGV) {
    my ($where, $socket) = split /=/, $word, 2;
    my ($address, $port) = $where =~ /^(.*):(\d+)$/;
    my $listening = IO::Socket::INET->new(
        LocalAddr => $address, LocalPort => $port, Listen => 128, ReuseAddr => 1) or die "$where: $!";
    $path{$listening} = $socket;
    $reading->add($listening);
}
open(my $ready, '>', $0 =~ s{[^/]*$}{ready}r) or die "ready: $!";
print $ready "ready\n";
close $ready;

sub drop {
    my ($one) = @_;
    for my $each (grep { defined } $one, delete $peer{$one}) {
        $reading->remove($each);
        $writing->remove($each);
        delete $peer{$each};
        delete $waiting{$each};
        delete $over{$each};
        close $each;
    }
}

# The same so that the other end is told at once: an orderly end would say that all was said.
sub reset_both {
    my ($one) = @_;
    setsockopt $_, SOL_SOCKET, SO_LINGER, pack 'ii', 1, 0 for grep { defined } $one, $peer{$one};
    drop($one);
}

sub push_out {
    my ($to) = @_;
    my $sent = syswrite $to, $waiting{$to};
    return reset_both($to) if !defined $sent && !$!{EAGAIN};
    substr($waiting{$to}, 0, $sent // 0, '');
    return if length $waiting{$to};
    $writing->remove($to);
    my $from = $peer{$to} or return;
    if ($over{$from}) {
        shutdown $to, 1;
        drop($to) if $over{$to};
    } else {
        $reading->add($from);
    }
}

while (1) {
    my ($can_read, $can_write) = IO::Select->select($reading, $writing);
    for my $one (@{$can_write // []}) { push_out($one) if exists $waiting{$one}; }
    for my $one (@{$can_read // []}) {
        if (exists $path{$one}) {
            my $in = $one->accept or next;
            my $out = IO::Socket::UNIX->new(Peer => $path{$one});
            if (!$out) { close $in; next; }
            $_->blocking(0) for $in, $out;
            @peer{$in, $out} = ($out, $in);
            @waiting{$in, $out} = ('', '');
            $reading->add($in, $out);
        } elsif (my $to = $peer{$one}) {
            my $got = sysread $one, my $piece, 65536;
            if (!defined $got) { reset_both($one) unless $!{EAGAIN}; next; }
            $reading->remove($one);
            $over{$one} = 1 unless $got;
            $waiting{$to} .= $piece if $got;
            $writing->add($to);
        }
    }
}
