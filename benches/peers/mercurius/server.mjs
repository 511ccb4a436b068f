// Mercurius over the file that is named. It prints its address, and ends with its standard input.
import Fastify from 'fastify';
import mercurius from 'mercurius';

import { open, typeDefs } from './tasks.mjs';

const tasks = open(process.argv[2]);
const app = Fastify();
await app.register(mercurius, { schema: typeDefs, resolvers: { Query: { tasks: (_, page) => tasks(page) } }, jit: 1 });
console.log(`listens on ${await app.listen({ host: '127.0.0.1', port: 0 })}`);
process.stdin.resume().on('end', () => process.exit());
