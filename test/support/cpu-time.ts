/** Milliseconds of processor time that this process has had. The time in which a busy machine runs other programs does not count. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
