// The real node agent and a real `coldiron serve`: installed from its own bundle into a temporary root.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort } from '../free-port.ts';
import { ROOT, ServingProcess, SiteFolder } from '../process/appliance.ts';

export const AGENT = join(ROOT, 'boot-assets/node-agent/node-agent');

export const siteFile = (port: number): string => `listen:
  boot: 127.0.0.1:0
  management: 127.0.0.1:0
  tftp: off
  node: 127.0.0.1:${port}
enrollment: { heartbeat_seconds: 2 }
inventory: [${join(ROOT, 'inventory/example.yaml')}]
`;

export class AgentSite {
  readonly site: SiteFolder;
  serving: ServingProcess | null = null;
  #agents: ChildProcess[] = [];

  private constructor(port: number) {
    this.site = new SiteFolder(siteFile(port));
  }

  static async make(): Promise<AgentSite> {
    return new AgentSite(await freePort());
  }

  async serve(): Promise<void> {
    this.serving = await new ServingProcess(this.site.path).up();
  }

  /** Serves on the same port again: agents know its address. */
  async restart(signal: NodeJS.Signals): Promise<void> {
    await this.serving?.end(signal);
    await this.serve();
  }

  nodeApi(): string {
    if (!this.serving) throw new Error('nothing serves');
    return this.serving.where('node');
  }

  run(...args: string[]): string {
    const { status, stdout, stderr } = this.site.run(...args);
    if (status !== 0) throw new Error(`coldiron ${args.join(' ')}: ${stdout}${stderr}`);
    return stdout;
  }

  json<T>(...args: string[]): T {
    return JSON.parse(this.run(...args, '--json')) as T;
  }

  /** Reads from the API over its socket: cheaper than a process of the CLI, where a test asks again and again. */
  get<T>(path: string): Promise<T> {
    const socketPath = join(this.site.state, 'coldiron.sock');
    return new Promise((resolve, reject) => {
      const request = get({ socketPath, path: `/api/v1${path}` }, async (response) => {
        const body = await text(response);
        if (response.statusCode === 200) resolve(JSON.parse(body) as T);
        else reject(new Error(`${path}: ${response.statusCode} ${body}`));
      });
      request.on('error', reject);
    });
  }

  /** Installed as an operator would, below its own root; the paths in its environment point there. */
  install(node: string, verb: 'issue' | 'reissue' = 'issue'): InstalledAgent {
    const root = join(this.site.path, node);
    mkdirSync(root, { recursive: true });
    const script = join(this.site.path, `${node}.sh`);
    this.run('token', verb, node, '--output', script);
    const installed = spawnSync('sh', [script, '--root', root, '--no-start'], { encoding: 'utf8' });
    if (installed.status !== 0) throw new Error(installed.stdout + installed.stderr);
    const environment = join(root, 'etc/coldiron/node-agent.env');
    writeFileSync(environment, readFileSync(environment, 'utf8').replaceAll('="/', `="${root}/`));
    return new InstalledAgent(root, (child) => this.#agents.push(child));
  }

  async end(): Promise<void> {
    for (const child of this.#agents) await endChild(child, 'SIGKILL');
    await this.serving?.end('SIGKILL');
    this.site.remove();
  }
}

export class InstalledAgent {
  readonly root: string;
  readonly #began: (child: ChildProcess) => void;
  #child: ChildProcess | null = null;
  #log = '';

  constructor(root: string, began: (child: ChildProcess) => void) {
    this.root = root;
    this.#began = began;
  }

  file(name: string): string {
    return join(this.root, 'etc/coldiron', name);
  }

  /** The screen of its node. */
  get console(): string {
    return join(this.root, 'console');
  }

  get environmentFile(): string {
    return this.file('node-agent.env');
  }

  token(): string {
    return /ENROLLMENT_TOKEN="([^"]*)"/.exec(readFileSync(this.environmentFile, 'utf8'))?.[1] ?? '';
  }

  variable(name: string): string {
    return new RegExp(`^COLDIRON_${name}="([^"]*)"`, 'm').exec(readFileSync(this.environmentFile, 'utf8'))?.[1] ?? '';
  }

  get log(): string {
    return this.#log;
  }

  start(shell: readonly string[] = ['dash'], environment: Readonly<Record<string, string>> = {}): void {
    const read = `set -a; . '${this.environmentFile}'; set +a; exec ${shell.join(' ')} '${join(this.root, 'opt/coldiron/node-agent/node-agent')}'`;
    const child = spawn('sh', ['-c', read], {
      env: {
        ...{ PATH: process.env.PATH, STATE_DIRECTORY: join(this.root, 'var'), AGENT_CONSOLE: this.console },
        ...environment,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    });
    child.stderr.on('data', (chunk) => {
      this.#log += chunk;
    });
    this.#began(child);
    this.#child = child;
  }

  /** Waits until this line was written. */
  async says(text: string | RegExp, after = 0): Promise<void> {
    const said = () =>
      typeof text === 'string' ? this.#log.slice(after).includes(text) : text.test(this.#log.slice(after));
    while (!said()) {
      const child = this.#child;
      if (!child?.stderr || child.exitCode !== null || child.signalCode !== null)
        throw new Error(`the agent ended without: ${text}\n${this.#log}`);
      await Promise.race([once(child.stderr, 'data'), once(child, 'exit')]);
    }
  }

  /** Ended by itself, or by a signal. */
  async exited(): Promise<void> {
    const child = this.#child;
    if (child && child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }

  async end(signal: NodeJS.Signals): Promise<number | null> {
    if (!this.#child) return null;
    await endChild(this.#child, signal);
    return this.#child.exitCode;
  }

  has(name: string): boolean {
    return existsSync(this.file(name));
  }
}

/** With its child processes: a curl outlives a shell that is killed. */
async function endChild(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.pid === undefined) return;
  const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : null;
  try {
    process.kill(signal === 'SIGKILL' ? -child.pid : child.pid, signal);
  } catch {
    // It has already ended.
  }
  await exited;
}
