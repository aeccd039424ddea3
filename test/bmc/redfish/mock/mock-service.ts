// A Redfish service without a socket: requests in, replies out, and a machine whose state changes.

import { changeAccount, changeBoot, changeDrive, changeLight, insertOrEject } from './changes.ts';
import { type BmcFaults, type MockBoot, type MockMachine, mockMachine, passLook, resetMachine } from './machine.ts';
import { answer, type MockAnswer, refusal } from './mock-answers.ts';
import { type Json, type MockPaths, pathsOf, ROOT, resources } from './resources.ts';
import type { VendorProfile } from './vendors.ts';

export interface MockRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

interface MockTask {
  left: number;
}

export class MockService {
  readonly vendor: VendorProfile;
  readonly paths: MockPaths;
  readonly machine: MockMachine = mockMachine();
  readonly faults: BmcFaults = {};
  /** Tokens by session id. */
  readonly sessions = new Map<string, { readonly token: string; readonly user: string }>();
  /** Received requests, such as `GET /redfish/v1/`, in order. */
  readonly received: string[] = [];
  /** Received changes with their bodies. */
  readonly written: { readonly what: string; readonly body: unknown; readonly ifMatch: string | null }[] = [];
  /** Replaces the reply of the service; null: the service replies. */
  intercept: (request: MockRequest) => MockAnswer | null = () => null;
  /** Additional systems. */
  readonly furtherSystems: Json[] = [];
  readonly #tasks = new Map<string, MockTask>();
  readonly #versions = new Map<string, number>();
  #oldBoot: MockBoot | null = null;
  #shownImage: { image: string; looks: number } | null = null;
  #next = 1;

  constructor(vendor: VendorProfile) {
    this.vendor = vendor;
    this.paths = pathsOf(vendor);
  }

  /** As after a session timeout, or a restart of the BMC. */
  forgetSessions(): void {
    this.sessions.clear();
  }

  answer(request: MockRequest): MockAnswer {
    this.received.push(`${request.method} ${request.path}`);
    const intercepted = this.intercept(request);
    if (intercepted) return intercepted;
    if ((this.faults.unavailable ?? 0) > 0) {
      this.faults.unavailable = (this.faults.unavailable ?? 0) - 1;
      return answer(503, null, { 'retry-after': '1' });
    }
    const path = request.path.length > 1 ? request.path.replace(/\/$/, '') : request.path;
    if (path === this.paths.sessions && request.method === 'POST') return this.#logIn(request);
    if (path === ROOT && request.method === 'GET') return this.#get(path);
    const user = this.#userOf(request);
    if (user === null) return refusal(401, 'Base.1.8.NoValidSession');
    const account = this.machine.users.findIndex(({ name }) => name === user);
    if (this.machine.users[account]?.mustChangePassword && path !== `${this.paths.accounts}/${account + 1}`) {
      return refusal(403, 'Base.1.8.PasswordChangeRequired');
    }
    return this.#authorised(request, path);
  }

  #authorised(request: MockRequest, path: string): MockAnswer {
    if (request.method === 'GET') return this.#get(path);
    if (request.method === 'DELETE') return this.#logOut(path);
    const body = parsed(request.body);
    if (body === null) return refusal(400, 'Base.1.8.MalformedJSON');
    const ifMatch = request.headers['if-match'] ?? null;
    this.written.push({ what: `${request.method} ${path}`, body, ifMatch });
    const notNow = this.faults.notNow;
    if (notNow && notNow.times > 0) {
      notNow.times -= 1;
      return refusal(notNow.status, notNow.messageId);
    }
    return request.method === 'POST' ? this.#post(path, body) : this.#patch(path, body, ifMatch);
  }

  #userOf({ headers }: MockRequest): string | null {
    const token = headers['x-auth-token'];
    if (token !== undefined) return [...this.sessions.values()].find((one) => one.token === token)?.user ?? null;
    const basic = /^Basic (.+)$/.exec(headers.authorization ?? '')?.[1];
    const [name, ...rest] = Buffer.from(basic ?? '', 'base64')
      .toString()
      .split(':');
    const user = this.machine.users.find((one) => one.name === name && one.password === rest.join(':'));
    return user?.name ?? null;
  }

  #logIn({ body }: MockRequest): MockAnswer {
    const login = parsed(body);
    const user = this.machine.users.find(({ name }) => name === login?.UserName);
    if (!user || user.password !== login?.Password) return refusal(401, 'Base.1.8.ResourceAtUriUnauthorized');
    if (this.sessions.size >= this.vendor.slots) return refusal(503, this.vendor.fullMessage);
    const id = String(this.#next++);
    const token = `token-${id}-${user.name}`;
    this.sessions.set(id, { token, user: user.name });
    const path = `${this.paths.sessions}/${id}`;
    const account = `${this.paths.accounts}/${this.machine.users.indexOf(user) + 1}`;
    const demand = { MessageId: 'Base.1.8.PasswordChangeRequired', MessageArgs: [account], Message: 'change it first' };
    return answer(
      201,
      { '@odata.id': path, ...(user.mustChangePassword ? { '@Message.ExtendedInfo': [demand] } : {}) },
      {
        'x-auth-token': token,
        location: this.vendor.absoluteLocations ? `https://ilo-sgh123.example.net${path}` : path,
      },
    );
  }

  #logOut(path: string): MockAnswer {
    const id = path.slice(path.lastIndexOf('/') + 1);
    return path.startsWith(this.paths.sessions) && this.sessions.delete(id) ? answer(204) : answer(404);
  }

  #get(path: string): MockAnswer {
    const task = this.#tasks.get(path);
    if (task) return this.#task(path, task);
    if (path === this.paths.system) passLook(this.machine, this.faults);
    const resource = this.#resources(path).get(path);
    if (!resource) return refusal(404, 'Base.1.8.ResourceMissingAtURI');
    const tag = this.tagOf(path);
    const name = path.slice(path.lastIndexOf('/') + 1);
    return answer(200, { '@odata.id': path, Id: name, Name: name, ...resource }, tag === null ? {} : { etag: tag });
  }

  #resources(path: string): Map<string, Json> {
    const { image } = this.machine;
    if (this.#shownImage && path === this.paths.drive) {
      this.machine.image = this.#shownImage.image;
      this.#shownImage = this.#shownImage.looks > 1 ? { ...this.#shownImage, looks: this.#shownImage.looks - 1 } : null;
    }
    const all = resources(this.vendor, this.machine, this.#bootShown(path), this.faults);
    this.machine.image = image;
    const members = [{ '@odata.id': this.paths.system }];
    for (const [index, system] of this.furtherSystems.entries()) {
      const at = `${ROOT}/Systems/further-${index}`;
      members.push({ '@odata.id': at });
      all.set(at, { '@odata.id': at, PowerState: 'Off', ...system });
    }
    all.set(`${ROOT}/Systems`, { Members: members });
    return all;
  }

  #bootShown(path: string): MockBoot {
    if (this.#oldBoot === null || (path !== this.paths.system && path !== this.paths.settings))
      return this.machine.boot;
    this.faults.bootTakes = (this.faults.bootTakes ?? 0) - 1;
    if (this.faults.bootTakes >= 0) return this.#oldBoot;
    this.#oldBoot = null;
    return this.machine.boot;
  }

  tagOf(path: string): string | null {
    const version = this.#versions.get(path) ?? 0;
    switch (this.vendor.etag) {
      case 'none':
        return null;
      case 'strength':
      case 'never-fits':
        return `W/"${version}"`;
      case 'checked':
      case 'required':
        return `"${version}"`;
    }
  }

  #tagRefusal(path: string, ifMatch: string | null): MockAnswer | null {
    const { etag } = this.vendor;
    if (ifMatch === null) return etag === 'required' ? refusal(428, 'Base.1.8.PreconditionRequired') : null;
    const tag = this.tagOf(path);
    const fits =
      etag !== 'never-fits' &&
      (etag === 'none' || ifMatch === '*' || ifMatch === (etag === 'strength' ? tag?.slice(2) : tag));
    return fits ? null : refusal(412, 'Base.1.8.PreconditionFailed');
  }

  #patch(path: string, body: Json, ifMatch: string | null): MockAnswer {
    const wrongTag = this.#tagRefusal(path, ifMatch);
    if (wrongTag) return wrongTag;
    const before = { ...this.machine.boot };
    const done = this.#change(path, body);
    if (done.status < 300) {
      this.#versions.set(path, (this.#versions.get(path) ?? 0) + 1);
      if ((this.faults.bootTakes ?? 0) > 0) this.#oldBoot = before;
    }
    return done;
  }

  #change(path: string, body: Json): MockAnswer {
    const { vendor, machine, faults, paths } = this;
    if ('Boot' in body && (path === paths.system || path === paths.settings)) {
      if (paths.settings !== null && path !== paths.settings) {
        return refusal(400, 'Ami.1.0.OperationSupportedInFutureStateURI');
      }
      return changeBoot(vendor, machine, body.Boot, faults);
    }
    if ('Password' in body) return changeAccount(machine, vendor, path.slice(paths.accounts.length + 1), body, faults);
    if (path === paths.drive) return changeDrive(vendor, machine, body);
    return changeLight(vendor, machine, path === paths.chassis ? 'chassis' : 'system', body, faults);
  }

  #post(path: string, body: Json): MockAnswer {
    const { vendor, machine, faults, paths } = this;
    if (path === `${paths.system}/Actions/ComputerSystem.Reset`) return this.#reset(String(body.ResetType));
    if (path === `${paths.log}/Actions/LogService.ClearLog`) {
      // Its clock counts requests.
      const created = new Date(Date.UTC(2024, 3, 1, 0, 0, this.received.length)).toISOString();
      const entry = { id: '1', created, severity: 'OK', message: 'Log cleared' };
      if (!faults.logKept) machine.log = [entry];
      return answer(204);
    }
    if (path.startsWith(`${paths.drive}/Actions/`)) {
      const { image } = machine;
      const done = insertOrEject(vendor, machine, path, body);
      const looks = vendor.media.shownAfterEject;
      if (image !== null && machine.image === null && looks > 0) this.#shownImage = { image, looks };
      return done;
    }
    return refusal(404, 'Base.1.8.ActionNotSupported');
  }

  #reset(type: string): MockAnswer {
    const { vendor, machine, faults } = this;
    if (!vendor.resetTypes.includes(type)) return refusal(400, 'Base.1.8.ActionParameterValueNotInList');
    const complaint = resetMachine(machine, type, faults);
    if (complaint !== null) return refusal(409, complaint);
    if (vendor.resetTask === 'none') return answer(204);
    const path = `${ROOT}/TaskService/Tasks/${this.#next++}`;
    this.#tasks.set(path, { left: faults.taskTakes ?? 2 });
    const known = vendor.resetTask === 'deleting' ? { '@odata.id': path, TaskState: 'New' } : null;
    return answer(202, known, { location: path });
  }

  #task(path: string, task: MockTask): MockAnswer {
    task.left -= 1;
    if (task.left > 0) return answer(202, { '@odata.id': path, TaskState: 'Running' });
    if (this.vendor.resetTask === 'deleting') this.#tasks.delete(path);
    if (!this.faults.taskFails) return answer(200, { '@odata.id': path, TaskState: 'Completed', TaskStatus: 'OK' });
    const Messages = [{ MessageId: 'Base.1.8.InternalError', Message: 'the relay is stuck' }];
    return answer(200, { '@odata.id': path, TaskState: 'Exception', TaskStatus: 'Critical', Messages });
  }
}

function parsed(body: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}
