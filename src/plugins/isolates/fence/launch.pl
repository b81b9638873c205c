# Starts one program behind the fence: perl launch.pl OPTIONS -- PROGRAM ARGUMENTS
#
# It is written in Perl, because every Debian and Ubuntu has it and it makes any system call without a compiler. It uses only modules that belong to
# perl itself (strict, warnings, Errno). This process stays as the parent and does nothing else. It has the user, the limits and the file system of the program.
use strict;
use warnings;

my $SYSCALLS = {
  x64 => { unshare => 272, mount => 165, umount2 => 166, pivot_root => 155, mount_setattr => 442, prctl => 157, seccomp => 317, capset => 126,
    setrlimit => 160, setresuid => 117, setresgid => 119, setgroups => 116, ppoll => 271, close_range => 436 },
  arm64 => { unshare => 97, mount => 40, umount2 => 39, pivot_root => 41, mount_setattr => 442, prctl => 167, seccomp => 277, capset => 91,
    setrlimit => 164, setresuid => 147, setresgid => 149, setgroups => 159, ppoll => 73, close_range => 436 },
};
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWPID, NEWNET; and CLONE_NEWUSER.
my $SPACES = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x20000000 | 0x40000000;
my $NEWUSER = 0x10000000;
my ($PR_SET_PDEATHSIG, $PR_SET_DUMPABLE, $PR_CAPBSET_DROP, $PR_SET_NO_NEW_PRIVS) = (1, 4, 24, 38);
my $SIGKILL = 9;
my $LAST_CAPABILITY = 40;
my $POLL_SECONDS = 1;

my %option = (spaces => 'none', bind => [], limit => [], group => []);
while (@ARGV) {
  my $word = shift @ARGV;
  last if $word eq '--';
  my ($name, $value) = $word =~ /^--(\w+)=(.*)$/s or refuse("unknown option $word");
  if (ref $option{$name}) { push @{ $option{$name} }, $value } else { $option{$name} = $value }
}
my $call = $SYSCALLS->{ $option{arch} // '' } or refuse('unknown processor');
# Read now: the new root does not contain this file.
my $probe = defined $option{probe} ? (do $option{probe} or refuse("cannot read $option{probe}: $@$!")) : undef;

my $worker = getppid();
join_group($_) for @{ $option{group} };
enter_spaces($option{spaces}) if $option{spaces} ne 'none';
make_root($option{root}) if defined $option{root};
# Limits come after the namespaces: only then do other processes of the worker's user not count against the limit on processes.
limit($_) for @{ $option{limit} };
become($option{user}) if defined $option{user};
drop_powers();
die_with_parent();
# The worker may have ended before this process asked to be killed with it.
exit 1 if getppid() != $worker;
start(@ARGV);

sub refuse {
  print STDERR "fence: $_[0]\n";
  exit 70;
}

sub must {
  my ($what, $name, @arguments) = @_;
  my $result = syscall($call->{$name}, @arguments);
  refuse("$what: $!") if $result == -1;
  return $result;
}

# DIRECTORY:FILE=VALUE,FILE=VALUE, with %p for the id of this process. Workers remove empty directories: another worker may remove this one before its
# first process joins it, so it is made again.
sub join_group {
  my ($directory, $values) = $_[0] =~ /^([^:]+):(.*)$/s or refuse("bad group $_[0]");
  $directory =~ s/%p/$$/;
  for my $attempt (1 .. 5) {
    mkdir $directory, 0755 or $!{EEXIST} or refuse("make $directory: $!");
    my @missing = grep { my ($file, $value) = split /=/, $_, 2; !put("$directory/$file", $value) } split(/,/, $values), 'cgroup.procs=0';
    return unless @missing;
    refuse("set @missing of $directory: $!") if $attempt == 5;
  }
}

sub put {
  my ($path, $text) = @_;
  open(my $file, '>', $path) or return 0;
  my $written = syswrite($file, $text);
  return defined $written && close($file);
}

# NUMBER=VALUE
sub limit {
  my ($number, $value) = split /=/, $_[0];
  my $both = pack('QQ', $value, $value);
  must("limit $number", 'setrlimit', $number + 0, $both);
}

sub enter_spaces {
  my ($kind) = @_;
  my ($user, $group) = ($> + 0, ($) =~ /^(\d+)/)[0] + 0);
  must('leave the namespaces of the machine', 'unshare', $SPACES | ($kind eq 'user' ? $NEWUSER : 0));
  return if $kind ne 'user';
  put('/proc/self/setgroups', 'deny') or refuse("deny groups: $!");
  put('/proc/self/uid_map', "$user $user 1") or refuse("map the user: $!");
  put('/proc/self/gid_map', "$group $group 1") or refuse("map the group: $!");
}

# Replaces the machine's file system with an empty, read-only one in memory that contains the given files.
sub make_root {
  my ($place) = @_;
  my ($none, $tmpfs, $options) = ('none', 'tmpfs', 'size=256k,nr_inodes=256,mode=755');
  my $top = '/';
  must('keep mounts to itself', 'mount', $none, $top, $none, 0x4000 | 0x40000, 0);
  must('mount a root', 'mount', $tmpfs, $place, $tmpfs, 0x2 | 0x4, $options);
  for my $path (@{ $option{bind} }) {
    my $target = "$place$path";
    make_folders($target);
    open(my $file, '>', $target) or refuse("make $target: $!");
    close $file;
    must("bind $path", 'mount', "$path", $target, $none, 0x1000, 0);
  }
  make_folders("$place$option{cwd}/.") if defined $option{cwd};
  chdir $place or refuse("enter $place: $!");
  my $here = '.';
  must('change the root', 'pivot_root', $here, "$here");
  must('let go of the old root', 'umount2', $here, 2);
  chdir '/' or refuse("enter the root: $!");
  # AT_RECURSIVE; read-only, no set-uid programs, no devices.
  my $attributes = pack('QQQQ', 0x1 | 0x2 | 0x4, 0, 0, 0);
  must('make the root read-only', 'mount_setattr', -100, $top, 0x8000, $attributes, 32);
}

sub make_folders {
  my ($path) = @_;
  my $folder = '';
  for my $name (split m{/}, $path =~ s{/[^/]*$}{}r) {
    next if $name eq '';
    $folder .= "/$name";
    mkdir $folder, 0755 or $!{EEXIST} or refuse("make $folder: $!");
  }
}

# FIRST:COUNT. While this process lives, no other process has its id. The user id is derived from it, and is unique unless COUNT is small.
sub become {
  my ($first, $count) = split /:/, $_[0];
  my $id = $first + $$ % $count;
  my $limits = pack('Q', 0);
  must('leave all groups', 'setgroups', 0, $limits);
  for my $capability (0 .. $LAST_CAPABILITY) {
    syscall($call->{prctl}, $PR_CAPBSET_DROP, $capability, 0, 0, 0) != -1 or $!{EINVAL} or refuse("give up capability $capability: $!");
  }
  must("become group $id", 'setresgid', $id, $id, $id);
  must("become user $id", 'setresuid', $id, $id, $id);
}

sub drop_powers {
  my ($header, $none) = (pack('LL', 0x20080522, 0), pack('L6', (0) x 6));
  must('give up capabilities', 'capset', $header, $none);
  must('give up new privileges', 'prctl', $PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

sub die_with_parent {
  must('die with the parent', 'prctl', $PR_SET_PDEATHSIG, $SIGKILL, 0, 0, 0);
}

sub start {
  my (@program) = @_;
  pipe(my $alive, my $held) or refuse("pipe: $!");
  $SIG{CHLD} = sub { };
  # Other processes of the same user may not inspect this process. The program's exec resets this for the program.
  must('hide', 'prctl', $PR_SET_DUMPABLE, 0, 0, 0, 0);
  my $child = fork() // refuse("fork: $!");
  if ($child) {
    close $alive;
    close STDOUT;
    close STDIN unless $option{watch};
    exit_as(wait_for($child));
  }
  $SIG{CHLD} = 'DEFAULT';
  close $held;
  # In a process namespace of its own, the child cannot ask for its parent. The pipe shows whether the parent still exists.
  die_with_parent();
  my $readable = '';
  vec($readable, fileno($alive), 1) = 1;
  exit 1 if select($readable, undef, undef, 0);
  close $alive;
  chdir $option{cwd} or refuse("enter $option{cwd}: $!") if defined $option{cwd};
  syscall($call->{close_range}, 3, 0xffffffff, 0);
  install($option{filter}) if defined $option{filter};
  exit $probe->(\%option) if $probe;
  { no warnings 'exec'; exec { $program[0] } @program; }
  refuse("run $program[0]: $!");
}

sub install {
  my $instructions = pack('H*', $_[0]);
  my $filter = pack('Sx6P', length($instructions) / 8, $instructions);
  must('filter system calls', 'seccomp', 1, 0, $filter);
}

# When this is the first process of a container, the end of its input means that its worker has ended. The end of this process ends the whole container.
sub wait_for {
  my ($child) = @_;
  while ($option{watch}) {
    my $ended = waitpid($child, 1);
    return $? if $ended == $child;
    my ($poll, $time) = (pack('lss', 0, 0, 0), pack('qq', $POLL_SECONDS, 0));
    # The end of the child interrupts this call.
    syscall($call->{ppoll}, $poll, 1, $time, 0, 8) != -1 or $!{EINTR} or refuse("watch the input: $!");
    my (undef, undef, $found) = unpack('lss', $poll);
    exit 1 if $found;
  }
  1 until waitpid($child, 0) == $child || $!{ECHILD};
  return $?;
}

sub exit_as {
  my ($status) = @_;
  exit $status >> 8 unless $status & 127;
  kill $status & 127, $$;
  # Some signals do not end a process.
  exit 128 + ($status & 127);
}
