# The launcher runs this in place of a program, to learn what the fence prevents. It tries what must fail, as code would that has broken out.
# Prints a line NAME=held or NAME=open WHAT for each property. The value of this file is the function.
use strict;
use warnings;

my %CALLS = (
  x64 => { socket => 41, mmap => 9, clone => 56, unshare => 272, io_uring_setup => 425, userfaultfd => 323, add_key => 248, request_key => 249, keyctl => 250,
    bpf => 321, perf_event_open => 298, ptrace => 101, mount => 165, pivot_root => 155, kexec_load => 246, memfd_create => 319, shmget => 29, shmctl => 31,
    process_vm_readv => 310, pidfd_open => 434, setns => 308, open_by_handle_at => 304, init_module => 175, clone3 => 435 },
  arm64 => { socket => 198, mmap => 222, clone => 220, unshare => 97, io_uring_setup => 425, userfaultfd => 282, add_key => 217, request_key => 218, keyctl => 219,
    bpf => 280, perf_event_open => 241, ptrace => 117, mount => 40, pivot_root => 41, kexec_load => 104, memfd_create => 279, shmget => 194, shmctl => 195,
    process_vm_readv => 270, pidfd_open => 434, setns => 268, open_by_handle_at => 265, init_module => 105, clone3 => 435 },
);

return sub {
  my ($option) = @_;
  my $call = $CALLS{ $option->{arch} };
  my $empty = "\0" x 256;
  my $name = "x\0";
  my $try = sub { my ($number, @arguments) = @_; return syscall($number, @arguments) != -1 };
  my $shared = sub { my $id = syscall($call->{shmget}, 0, 4096, 01600); syscall($call->{shmctl}, $id, 0, 0) if $id != -1; return $id != -1 };
  my $reads = sub { open(my $file, '<', $_[0]) or return 0; return defined sysread($file, my $bytes, 1) };
  # True where a file can be made there. It has a name that nobody else uses, and is removed: what is measured may be the machine itself.
  my $makes = sub {
    my $path = $_[0] . join('-', 'longshore-probe', $$, int(rand(1e9)));
    # O_WRONLY|O_CREAT|O_EXCL. A container beside the worker has no module with these names.
    sysopen(my $file, $path, 0301) or return 0;
    unlink $path;
    return 1;
  };
  # True where the call is refused before the kernel reads its arguments: with these arguments the kernel gives another error.
  my $refused = sub { my ($number, @arguments) = @_; return syscall($number, @arguments) == -1 && ($!{EPERM} || $!{ENOSYS}) };
  my $names = sub { opendir(my $folder, $_[0]) or return (); return readdir $folder };
  my @sockets = grep { $_ ne '' } split(/:/, $option->{sockets} // ''), '/var/run/docker.sock', '/run/docker.sock', '/run/containerd/containerd.sock';
  my @files = ('/etc/passwd', '/etc/shadow', '/proc/1/environ', "/proc/$option->{worker}/environ", "/proc/$option->{worker}/mem");
  my %found = (
    socket => [grep { -e $_ } @sockets],
    files => [grep { $reads->($_) } @files, grep { $_ ne '' } split /:/, $option->{secrets} // ''],
    processes => [
      (grep { /^\d+$/ && $_ != $$ && $_ != 1 } $names->('/proc')),
      (grep { kill 0, $_ } $option->{worker}, getppid()),
    ],
    network => [map { "address family $_" } grep { $try->($call->{socket}, $_, 1, 0) } 1, 2, 10, 16, 17, 38, 40],
    writing => [grep { $makes->($_) } './', '/tmp/', '/', '/dev/shm/'],
    'shared memory' => [
      ($try->($call->{memfd_create}, $name, 0) ? 'memfd_create' : ()),
      ($shared->() ? 'shmget' : ()),
      # PROT_READ|PROT_WRITE, MAP_SHARED|MAP_ANONYMOUS
      ($try->($call->{mmap}, 0, 4096, 3, 0x21, -1, 0) ? 'mmap' : ()),
    ],
    # First writable, private memory, which the limit counts; then memory of a stack, which the limit does not count.
    memory => [map { "1 GB by mmap with flags $_" } grep { $try->($call->{mmap}, 0, 1 << 30, 3, $_, -1, 0) } 0x22, 0x122],
    'system calls' => [
      grep { !$refused->($call->{$_}, $empty, $empty, $empty, 0, 0) } qw(mount pivot_root kexec_load init_module request_key add_key open_by_handle_at io_uring_setup bpf perf_event_open)
    ],
    children => [],
  );
  my %arguments = (unshare => [0x10000000], userfaultfd => [1], ptrace => [16, 0, 0, 0], keyctl => [0, -3, 0], setns => [0, 0], pidfd_open => [1, 0],
    process_vm_readv => [1, $empty, 1, $empty, 1, 0], clone3 => [$empty, 0]);
  push @{ $found{'system calls'} }, grep { !$refused->($call->{$_}, @{ $arguments{$_} }) } sort keys %arguments;
  my $child = fork();
  if (defined $child) {
    exit 0 if $child == 0;
    waitpid $child, 0;
    push @{ $found{children} }, 'fork';
  }
  print map { $_ . (@{ $found{$_} } ? "=open @{ $found{$_} }\n" : "=held\n") } sort keys %found;
  print "user=$<\n";
  return 0;
};
