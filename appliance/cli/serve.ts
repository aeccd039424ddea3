import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Logger } from 'pino';
import { loadConfig } from '../config.ts';
import { ColdironError } from '../domain/errors.ts';
import { startAppliance } from '../main.ts';
import { giveMemoryBack } from '../net/give-memory-back.ts';
import { openLog } from './log.ts';

interface ServeOptions {
  readonly config?: string;
  readonly state?: string;
}

/** Time for requests in progress and the running effect; then the process exits. */
const STOP_WITHIN_MS = 4500;

export async function serve(options: ServeOptions): Promise<void> {
  const file = options.config ?? 'coldiron.yaml';
  if (!existsSync(file)) {
    throw new ColdironError(
      'invalid_config',
      `the site file ${file} does not exist; to try Coldiron with a virtual rack: npm start`,
    );
  }
  const config = await loadConfig(file, options.state === undefined ? {} : { state: options.state });
  // Files created from here on are readable by this user only.
  process.umask(0o077);
  const logger = openLog(config.logLevel);

  const appliance = await startAppliance(config, logger);
  const stopped = untilSignalled(appliance.stop, logger);
  giveMemoryBack();
  for (const { what, where } of appliance.places) process.stdout.write(`${what.padEnd(12)}${where}\n`);
  const { adminTokenFile } = appliance;
  const tokens =
    adminTokenFile === null ? 'coldiron api-token create NAME --role ROLE' : `${adminTokenFile} (expires after a day)`;
  process.stdout.write(`${'admin token'.padEnd(12)}${tokens}\n`);
  process.stdout.write(`${'web page'.padEnd(12)}coldiron ui prints a link\n`);
  process.stdout.write('Coldiron is up. Ctrl-C stops it.\n');
  notifySystemd(logger);
  await stopped;
}

async function untilSignalled(stop: () => Promise<void>, logger: Logger): Promise<void> {
  const signal = await new Promise<string>((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => resolve(name));
  });
  logger.info({ signal }, 'stopping');
  const overdue = setTimeout(() => {
    logger.error({ ms: STOP_WITHIN_MS }, 'stopping took too long; unfinished work resumes at the next start');
    process.exit(1);
  }, STOP_WITHIN_MS);
  await stop();
  clearTimeout(overdue);
  logger.info('stopped');
}

/**
 * sd_notify(3) by systemd's own program: Node cannot send to a unix datagram socket. The unit needs NotifyAccess=all, because
 * the message comes from a child.
 */
function notifySystemd(logger: Logger): void {
  if (!process.env.NOTIFY_SOCKET) return;
  const notifier = spawn('systemd-notify', ['--ready', `--pid=${process.pid}`, '--status=serving'], {
    stdio: 'ignore',
  });
  notifier.on('error', (error) => logger.warn({ err: error }, 'cannot notify systemd that the appliance is ready'));
}
