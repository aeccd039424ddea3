import { spawn } from 'node:child_process';
import { Running } from '../namespaces.ts';

/** ShellCheck's findings in a script; empty is good. */
export async function shellCheck(script: string): Promise<string> {
  const child = spawn('shellcheck', ['--severity=style', '-'], { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.end(script);
  return (await new Running(child).finished()).output;
}
