// Yoga with graphql-ws, as their documentation puts them together: pages of the file that is named, or without one a
// single task in memory, whose changes it publishes. It prints its address, and ends with its standard input.
import { createServer } from 'node:http';

import { useServer } from 'graphql-ws/use/ws';
import { createPubSub, createSchema, createYoga, map, pipe, Repeater } from 'graphql-yoga';
import { WebSocketServer } from 'ws';

import { open, typeDefs } from '../mercurius/tasks.mjs';

const file = process.argv[2];
const tasks = file ? open(file) : undefined;
const changes = createPubSub();
const task = { id: '01a23f2b-9e10-7450-907b-5a5e8c9b5ee7', title: 'A task whose changes all follow', state: 'TODO', lastActivityAt: '2026-12-04T03:49:12.926073Z', pendingAction: 'CLARIFICATION' };
let revision = 1;

const reportActivity = (_, { input }) => {
  revision += 1;
  const updatedAt = new Date().toISOString().replace('Z', '000Z');
  const statusSummary = { revision: String(revision), updatedAt, pendingAction: task.pendingAction, activeSubagentCount: input.subagentCount };
  changes.publish('task', { __typename: 'TaskChanged', task: { ...task, statusSummary } });
  return { __typename: 'TaskPayload', taskId: task.id };
};
const follow = () => pipe(Repeater.merge([[{ __typename: 'TaskSnapshot', tasks: [] }], changes.subscribe('task')]), map((taskChanges) => ({ taskChanges })));

const schema = createSchema({
  typeDefs,
  resolvers: {
    Query: { tasks: (_, page) => tasks(page) },
    Mutation: { reportActivity },
    Subscription: { taskChanges: { subscribe: follow } },
  },
});
const yoga = createYoga({ schema, logging: false, graphiql: false, landingPage: false });
const http = createServer(yoga);
useServer(
  {
    execute: (args) => args.rootValue.execute(args),
    subscribe: (args) => args.rootValue.subscribe(args),
    onSubscribe: async (ctx, _id, params) => {
      const { schema, execute, subscribe, contextFactory, parse, validate } = yoga.getEnveloped({ ...ctx, req: ctx.extra.request, socket: ctx.extra.socket, params });
      const document = parse(params.query);
      const errors = validate(schema, document);
      if (errors.length) return errors;
      return { schema, document, operationName: params.operationName, variableValues: params.variables, contextValue: await contextFactory(), rootValue: { execute, subscribe } };
    },
  },
  new WebSocketServer({ server: http, path: '/graphql/ws' }),
);
// As long as the queue that the other servers ask for.
http.listen({ host: '127.0.0.1', port: 0, backlog: 1024 }, () => console.log(`listens on http://127.0.0.1:${http.address().port}/`));
process.stdin.resume().on('end', () => process.exit());
