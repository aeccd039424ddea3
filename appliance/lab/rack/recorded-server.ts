// A server that does not exist: it only records its BMC's commands, one JSON object per line.

import { appendFile } from 'node:fs/promises';
import type { BootFlag, Chassis } from './chassis.ts';

export class RecordedServer implements Chassis {
  readonly pid = null;
  readonly #name: string;
  readonly #file: string;
  #isOn = false;
  #flag: BootFlag = 'none';
  #light = false;

  constructor(name: string, file: string) {
    this.#name = name;
    this.#file = file;
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  get bootFlag(): BootFlag {
    return this.#flag;
  }

  get lightIsOn(): boolean {
    return this.#light;
  }

  async powerOn(): Promise<void> {
    await this.#record('power-on', { boot: this.#flag });
    if (!this.#isOn) this.#flag = 'none';
    this.#isOn = true;
  }

  async powerOff(): Promise<void> {
    await this.#record('power-off');
    this.#isOn = false;
  }

  async reset(): Promise<void> {
    await this.#record('reset', { boot: this.#flag });
    if (this.#isOn) this.#flag = 'none';
  }

  async softOff(): Promise<void> {
    await this.#record('soft-off');
    this.#isOn = false;
  }

  async setBootFlag(flag: BootFlag): Promise<void> {
    await this.#record('boot-flag', { boot: flag });
    this.#flag = flag;
  }

  identify(seconds: number): void {
    this.#light = seconds > 0;
  }

  async unrack(): Promise<void> {}

  async #record(action: string, more: Readonly<Record<string, string>> = {}): Promise<void> {
    const entry = { at: new Date().toISOString(), machine: this.#name, action, ...more };
    await appendFile(this.#file, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
  }
}
