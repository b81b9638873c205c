import { arch, cpus, loadavg, release, totalmem } from 'node:os';
import type Docker from 'dockerode';

/** What the figures were measured on, in one line. */
export async function machineFacts(docker: Docker): Promise<string> {
  const [version, info] = await Promise.all([docker.version(), docker.info()]);
  const [cpu] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  const engine = `Docker ${version.Version} (${info.Driver}, ${info.DefaultRuntime})`;
  return `${cpus().length} × ${cpu?.model.trim() || arch()}, ${memory} GB, Linux ${release()}, Node ${process.versions.node}, ${engine}, load ${loadavg()[0]?.toFixed(1)}`;
}
