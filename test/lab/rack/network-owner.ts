// A process that creates a rack's network, starts a program in it and waits to be killed.

import { spawn } from 'node:child_process';
import { RackNetwork } from '../../../appliance/lab/rack/network.ts';

const { name, folder } = await RackNetwork.start();
// Not with network.command(), whose programs end with their owner: this one must be found by its namespace.
const { pid } = spawn('ip', ['netns', 'exec', name, 'sleep', '600'], { stdio: 'ignore' });
process.stdout.write(`${JSON.stringify({ name, folder, pid })}\n`);
setInterval(() => {}, 60_000);
