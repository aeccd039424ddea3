import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Bmc } from '../../appliance/bmc/bmc.ts';
import { BmcError } from '../../appliance/bmc/bmc-error.ts';
import { openUnsettled, type PasswordStore, rotatePassword } from '../../appliance/bmc/rotate.ts';
import { Secret } from '../../appliance/domain/secret.ts';
import { FakeMachine, fakeBmc } from './fake-bmc.ts';
import { VirtualClock } from './virtual-clock.ts';

const OLD = 'the-old-one';
const textOf = (secret: Secret): string => new TextDecoder().decode(secret.reveal());

/** How a BMC handles a new password: what it stores, or how it fails before or after storing it. */
interface Behaviour {
  readonly keeps: (password: string, before: string) => string;
  readonly failsBefore?: BmcError;
  readonly failsAfter?: BmcError;
}

const BEHAVIOURS = {
  'takes it': { keeps: (password) => password },
  'accepts and ignores it': { keeps: (_password, before) => before },
  'keeps sixteen bytes of it': { keeps: (password) => password.slice(0, 16) },
  'refuses it': { keeps: (password) => password, failsBefore: new BmcError('refused', 'too simple') },
  'takes it and says nothing': { keeps: (password) => password, failsAfter: new BmcError('vanished', 'silence') },
  'loses it and says nothing': { keeps: (password) => password, failsBefore: new BmcError('vanished', 'silence') },
  'takes it and denies it': { keeps: (password) => password, failsAfter: new BmcError('contradiction', 'differs') },
} as const satisfies Record<string, Behaviour>;

class Crash extends Error {}

/** A BMC with one user, and a disk. Any step can crash the process, before or after it takes effect. */
class Rig {
  readonly clock = new VirtualClock();
  readonly disk: { current: string; pending: string | null } = { current: OLD, pending: null };
  readonly steps: string[] = [];
  /** Consecutive failures, as a BMC counts them. */
  failedLogins = 0;
  mostFailedLogins = 0;
  inForce = OLD;
  /** All logins fail. */
  unreachable = false;
  crashAt: { readonly step: number; readonly done: boolean } | null = null;
  openSessions = 0;
  readonly #behaviour: Behaviour;

  constructor(behaviour: Behaviour) {
    this.#behaviour = behaviour;
  }

  async #step<Result>(what: string, work: () => Result): Promise<Result> {
    this.steps.push(what);
    const crash = this.crashAt?.step === this.steps.length ? this.crashAt : null;
    if (crash && !crash.done) throw new Crash(what);
    const doing = Promise.resolve().then(work);
    if (!crash) return doing;
    await doing.catch(() => undefined);
    throw new Crash(what);
  }

  readonly open = (password: Secret): Bmc => {
    let loggedIn = false;
    const login = (): void => {
      if (loggedIn) return;
      if (this.unreachable) throw new BmcError('unreachable', 'no answer');
      if (textOf(password) !== this.inForce) {
        this.failedLogins += 1;
        this.mostFailedLogins = Math.max(this.mostFailedLogins, this.failedLogins);
        throw new BmcError('authentication', 'wrong password');
      }
      this.failedLogins = 0;
      this.openSessions += 1;
      loggedIn = true;
    };
    return {
      ...fakeBmc(new FakeMachine()),
      powerState: () =>
        this.#step('login', () => {
          login();
          return 'on' as const;
        }),
      setOwnPassword: (next) =>
        this.#step('set', () => {
          login();
          const { keeps, failsBefore, failsAfter } = this.#behaviour;
          const again = textOf(next) === OLD;
          if (failsBefore && !again) throw failsBefore;
          this.inForce = again ? OLD : keeps(textOf(next), this.inForce);
          if (failsAfter && !again) throw failsAfter;
        }),
      close: async () => {
        if (loggedIn) this.openSessions -= 1;
        loggedIn = false;
      },
    };
  };

  readonly store: PasswordStore = {
    savePending: (password) =>
      this.#step('save', () => {
        this.disk.pending = textOf(password);
      }),
    commitPending: () =>
      this.#step('commit', () => {
        this.disk.current = this.disk.pending ?? this.disk.current;
        this.disk.pending = null;
      }),
    dropPending: () =>
      this.#step('drop', () => {
        this.disk.pending = null;
      }),
  };

  rotate(length?: number) {
    const tools = { clock: this.clock, random: (count: number) => Uint8Array.from(randomBytes(count)) };
    const rotation = { current: new Secret(OLD), open: this.open, store: this.store, ...(length ? { length } : {}) };
    return this.clock.until(rotatePassword(rotation, tools));
  }

  /** The next process: opens with the passwords on the disk. */
  async reopen(): Promise<Bmc> {
    this.crashAt = null;
    const current = new Secret(this.disk.current);
    if (this.disk.pending === null) return this.open(current);
    return openUnsettled({ current, pending: new Secret(this.disk.pending) }, this.open, this.store);
  }
}

describe('a new password', () => {
  it('is saved before the BMC gets it, verified by a login, and only then becomes current', async () => {
    const rig = new Rig(BEHAVIOURS['takes it']);
    expect(await rig.rotate()).toEqual({ kind: 'rotated' });
    expect(rig.steps).toEqual(['login', 'save', 'set', 'login', 'commit']);
    expect(rig.disk).toEqual({ current: rig.inForce, pending: null });
    expect(rig.inForce).not.toBe(OLD);
    expect(rig.openSessions).toBe(0);
  });

  it.each([
    ['accepts and ignores it', undefined, 'rolled-back', 'rejects a login with it'],
    ['keeps sixteen bytes of it', 20, 'rolled-back', 'rejects a login with it'],
    ['refuses it', undefined, 'unchanged', 'too simple'],
    ['loses it and says nothing', undefined, 'rolled-back', 'silence'],
  ] as const)('is rolled back to the verified old one when the BMC %s', async (what, length, kind, reason) => {
    const rig = new Rig(BEHAVIOURS[what]);
    expect(await rig.rotate(length)).toEqual({ kind, reason: expect.stringContaining(reason) });
    expect(rig.inForce).toBe(OLD);
    expect(rig.disk).toEqual({ current: OLD, pending: null });
    expect(rig.mostFailedLogins).toBeLessThanOrEqual(1);
    expect(rig.openSessions).toBe(0);
  });

  it.each(['keeps sixteen bytes of it', 'takes it and says nothing', 'takes it and denies it'] as const)(
    'becomes current after a verified login when the BMC %s',
    async (what) => {
      const rig = new Rig(BEHAVIOURS[what]);
      expect(await rig.rotate()).toEqual({ kind: 'rotated' });
      expect(rig.disk).toEqual({ current: rig.inForce, pending: null });
    },
  );

  it('is not generated when the current one is rejected', async () => {
    const rig = new Rig(BEHAVIOURS['takes it']);
    rig.inForce = 'changed elsewhere';
    await expect(rig.rotate()).rejects.toMatchObject({ failure: 'authentication' });
    expect(rig.steps).toEqual(['login']);
    expect(rig.disk).toEqual({ current: OLD, pending: null });
  });

  it('stays pending beside the old one when the BMC becomes unreachable', async () => {
    const rig = new Rig({
      keeps: (password) => {
        rig.unreachable = true;
        return password;
      },
    });
    expect(await rig.rotate()).toEqual({ kind: 'unsettled', reason: 'no answer' });
    expect(rig.disk).toEqual({ current: OLD, pending: rig.inForce });
    rig.unreachable = false;
    await (await rig.reopen()).powerState();
    expect(rig.disk).toEqual({ current: rig.inForce, pending: null });
  });

  it('never appears in an outcome or an error', async () => {
    for (const behaviour of Object.values(BEHAVIOURS)) {
      const rig = new Rig(behaviour);
      const text = JSON.stringify(await rig.rotate().catch(String));
      expect(text).not.toContain(OLD);
      expect(text).not.toContain(rig.inForce);
    }
  });
});

describe.each(Object.entries(BEHAVIOURS))('a process that crashes while a BMC %s', (_what, behaviour) => {
  it('leaves a password that works for the next process, whichever step it crashes at', async () => {
    const uninterrupted = new Rig(behaviour);
    await uninterrupted.rotate();
    for (let step = 1; step <= uninterrupted.steps.length; step++) {
      for (const done of [false, true]) {
        const rig = new Rig(behaviour);
        rig.crashAt = { step, done };
        await expect(rig.rotate(), `${rig.steps.at(-1)}`).rejects.toBeInstanceOf(Crash);
        expect(await (await rig.reopen()).powerState()).toBe('on');
        expect(rig.disk, `after ${rig.steps.join(' ')}`).toEqual({ current: rig.inForce, pending: null });
        expect(rig.mostFailedLogins).toBeLessThanOrEqual(1);
      }
    }
  });
});

describe('after an interrupted change', () => {
  it('tries two wrong passwords once each, and reports both', async () => {
    const rig = new Rig(BEHAVIOURS['takes it']);
    rig.disk.pending = 'new';
    rig.inForce = 'another';
    await expect(rig.reopen()).rejects.toMatchObject({
      failure: 'authentication',
      message: expect.stringContaining('neither the old nor the new password'),
    });
    expect(rig.failedLogins).toBe(2);
    expect(rig.disk).toEqual({ current: OLD, pending: 'new' });
  });

  it('keeps both passwords when the BMC does not reply', async () => {
    const rig = new Rig(BEHAVIOURS['takes it']);
    rig.disk.pending = 'new';
    rig.unreachable = true;
    await expect(rig.reopen()).rejects.toMatchObject({ failure: 'unreachable' });
    expect(rig.disk).toEqual({ current: OLD, pending: 'new' });
  });
});
