// An opener over a real store and vault, and one machine whose BMC is in memory and checks the login.

import { dirname } from 'node:path';
import { onTestFinished } from 'vitest';
import { BmcCredentials } from '../../../appliance/bmc/access/bmc-credentials.ts';
import { BmcOpener } from '../../../appliance/bmc/access/bmc-opener.ts';
import { type BmcLogin, sealed } from '../../../appliance/bmc/access/logins.ts';
import { BmcMemory } from '../../../appliance/bmc/access/memory.ts';
import { NodeBmcs } from '../../../appliance/bmc/access/node-bmcs.ts';
import { NodeConsoles } from '../../../appliance/bmc/access/node-consoles.ts';
import { passwordReader } from '../../../appliance/bmc/access/password-files.ts';
import { NO_WITNESS, type PowerWitness } from '../../../appliance/bmc/access/witnessed.ts';
import type { Bmc } from '../../../appliance/bmc/bmc.ts';
import { BmcError } from '../../../appliance/bmc/bmc-error.ts';
import type { BmcEndpoint, Machine } from '../../../appliance/domain/machine.ts';
import type { BmcMode } from '../../../appliance/domain/network.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { Secret } from '../../../appliance/domain/secret.ts';
import { createVault } from '../../../appliance/identity/vault/vault.ts';
import { newKeyText, parseVaultKeys } from '../../../appliance/identity/vault/vault-keys.ts';
import { ENGINES } from '../../store/engines.ts';
import { addMachines, address, newAudit, specOf } from '../../store/samples.ts';
import { FakeMachine, fakeBmc } from '../fake-bmc.ts';
import { VirtualClock } from '../virtual-clock.ts';

export const BY = { actor: 'token:alice', correlationId: 'corr-7' };
export const login = (password: string, username = 'ADMIN'): BmcLogin => ({
  username,
  password: new Secret(password),
  key: null,
});
export const text = (secret: Secret): string => Buffer.from(secret.reveal()).toString('utf8');

/** The login of the BMC, and how it handles a new password. */
export class FakeLogin {
  password = 'factory';
  readonly logins: string[] = [];
  /** The protocol of each opening. */
  readonly drivers: string[] = [];
  open = 0;
  /** What it stores of a given password. */
  takes: (given: string) => string = (given) => given;

  bmc(machine: FakeMachine, { username, password }: BmcLogin): Bmc {
    const inner = fakeBmc(machine);
    this.open += 1;
    const check = (): void => {
      this.logins.push(text(password));
      if (username !== 'ADMIN' || text(password) !== this.password) {
        throw new BmcError('authentication', 'BMC 10.2.10.1: wrong user or password');
      }
    };
    let loggedIn = false;
    const logIn = (): void => {
      if (!loggedIn) check();
      loggedIn = true;
    };
    const guarded =
      <Result>(work: () => Promise<Result>) =>
      async (): Promise<Result> => {
        logIn();
        return work();
      };
    return {
      ...inner,
      powerState: guarded(() => inner.powerState()),
      powerOff: guarded(() => inner.powerOff()),
      identity: guarded(() => inner.identity()),
      powerOn: guarded(() => inner.powerOn()),
      setBoot: async (choice) => {
        logIn();
        return inner.setBoot(choice);
      },
      setOwnPassword: async (fresh) => {
        logIn();
        this.password = this.takes(text(fresh));
      },
      close: async () => {
        this.open -= 1;
      },
    };
  }
}

const NOWHERE = '/nowhere/state';

export async function openerRig(
  changes: {
    mode?: BmcMode | null;
    passwordFile?: string | null;
    /** Default: the folder of the password file. */
    passwordFolder?: string;
    driver?: BmcEndpoint['driver'];
  } = {},
) {
  const [sqlite] = ENGINES;
  if (!sqlite) throw new Error('there is no engine');
  const engine = await sqlite.open();
  onTestFinished(() => engine.dispose());
  const clock = new VirtualClock();
  const store = clock.standsStillFor(engine.store);
  const spec = specOf(1);
  const { passwordFile = null, driver = 'ipmi' } = changes;
  const bmc = spec.bmc && { ...spec.bmc, driver, username: 'ADMIN', passwordFile };
  const [machine] = await addMachines(store, { ...spec, bmc });
  if (!machine) throw new Error('the machine was not written');
  const now = () => clock.now();
  const vault = createVault(mustParse(parseVaultKeys(newKeyText(), 'vault-key')));
  const [bmcLogin, hardware] = [new FakeLogin(), new FakeMachine()];
  const mode = { is: changes.mode === undefined ? ('real' as const) : changes.mode };
  const logged: object[] = [];
  const passwords = { folder: changes.passwordFolder ?? dirname(passwordFile ?? NOWHERE), state: NOWHERE };
  const readPassword = passwordReader(passwords, { warn: (fields) => void logged.push(fields) });
  const witness: { -readonly [Verb in keyof PowerWitness]: PowerWitness[Verb] } = { ...NO_WITNESS };
  const opener = new BmcOpener({
    store,
    vault,
    readPassword,
    now,
    bmcMode: () => mode.is,
    witness: () => witness,
    openDriver: (_machine, at, given) => {
      bmcLogin.drivers.push(at.driver);
      return bmcLogin.bmc(hardware, given);
    },
  });
  const consoles = new NodeConsoles({ opener, clock });
  const nodes = new NodeBmcs({ opener, store, consoles, now });
  const memory = await BmcMemory.open(store, { warn: () => undefined });
  const keys = new BmcCredentials({ opener, nodes, store, vault, memory, now, clock });
  const keep = (slot: 'current' | 'pending', password: string, of: Machine = machine): Promise<void> => {
    const credentials = sealed(vault, of.id, address('10.2.10.0', 1), login(password), clock.now());
    const audit = newAudit('bmc.test');
    return slot === 'current'
      ? store.setBmcCredentials(of.id, credentials, audit)
      : store.setPendingBmcCredentials(of.id, credentials, audit);
  };
  const held = async () => {
    const { current, pending } = await store.bmcCredentials(machine.id);
    const opened = (sealedText: typeof current) =>
      sealedText &&
      text(vault.open({ machine: machine.id, purpose: 'bmc-password' }, address('10.2.10.0', 1), sealedText.password));
    return { current: opened(current), pending: opened(pending) };
  };
  const audited = async () => (await store.auditEntries(0, 100)).map(({ action }) => action);
  return {
    engine,
    store,
    machine,
    clock,
    vault,
    readPassword,
    /** What the reader of password files logged. */
    logged,
    bmcLogin,
    hardware,
    mode,
    witness,
    opener,
    consoles,
    nodes,
    memory,
    keys,
    keep,
    held,
    audited,
  };
}
