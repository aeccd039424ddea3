// The methods of `task-store.ts`, each in its transaction.

import type { Kysely } from 'kysely';
import type { TaskStore } from '../task-store.ts';
import { readHeartbeatOf, readHeartbeats, writeHeartbeats } from './heartbeats.ts';
import type { Database } from './schema.ts';
import {
  cancelTask,
  closeTask,
  deleteTasksBefore,
  finishTask,
  insertTask,
  leaseTask,
  readTask,
  readTasksOf,
  startTask,
  sweepTasks,
} from './tasks.ts';
import { writing } from './transaction.ts';

export const taskVerbs = (db: Kysely<Database>): TaskStore => ({
  createTask: (task, event, audit) => writing(db, (trx) => insertTask(trx, task, event, audit)),
  task: (id) => readTask(db, id),
  tasksOf: (machine, limit) => readTasksOf(db, machine, limit),
  leaseTask: (lease) => writing(db, (trx) => leaseTask(trx, lease)),
  startTask: (id, lease, event) => writing(db, (trx) => startTask(trx, id, lease, event)),
  finishTask: (finished) => writing(db, (trx) => finishTask(trx, finished)),
  cancelTask: (id, now, event) => writing(db, (trx) => cancelTask(trx, id, now, event)),
  closeTask: (closing) => writing(db, (trx) => closeTask(trx, closing)),
  sweepTasks: (now, event) => writing(db, (trx) => sweepTasks(trx, now, event)),
  trimTasks: (before) => writing(db, (trx) => deleteTasksBefore(trx, before)),
  putHeartbeats: (heartbeats) => writing(db, (trx) => writeHeartbeats(trx, heartbeats)),
  heartbeats: () => readHeartbeats(db),
  heartbeatOf: (machine) => readHeartbeatOf(db, machine),
});
