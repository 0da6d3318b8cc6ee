// A consumer of kafkajs: commands in, events out, a JSON object a line, as kit/rota/clients/consumer_process.py says.
"use strict";

const readline = require("node:readline");
const { Kafka, PartitionAssigners, logLevel } = require("kafkajs");

const settings = JSON.parse(process.argv[2]);
const kafka = new Kafka({
  clientId: settings.client_id,
  brokers: [settings.address],
  logLevel: logLevel.NOTHING,
  retry: { initialRetryTime: 100, retries: 20 },
});
const consumer = kafka.consumer({
  groupId: settings.group_id,
  sessionTimeout: settings.session_timeout_ms,
  heartbeatInterval: settings.heartbeat_interval_ms,
  rebalanceTimeout: 10000,
  maxWaitTimeInMs: 100,
  partitionAssigners: [PartitionAssigners.roundRobin],
});

let membership = [-1, ""];
let held = [];
let positions = new Map();
let view = "";

function emit(event, more = {}) {
  const [generation, member_id] = event === "closed" ? [-1, ""] : membership;
  const t = Number(process.hrtime.bigint()) / 1e9;
  process.stdout.write(JSON.stringify({ t, event, generation, member_id, ...more }) + "\n");
}

function fail(what, error) {
  emit("error", { what, error: `${error.name}: ${error.message}` });
}

// kafkajs has committed each record that it has handed out before it joins again; it tells of a rebalance when it does.
function giveUp() {
  if (held.length) emit("revoked", { partitions: held });
  held = [];
  positions.clear();
}

function look() {
  const now = JSON.stringify([membership, held]);
  if (now !== view) {
    view = now;
    emit("view", { owned: held, library_owns: held });
  }
}

const events = consumer.events;
consumer.on(events.REBALANCING, () => giveUp());
consumer.on(events.GROUP_JOIN, ({ payload }) => {
  giveUp();
  membership = [-1, payload.memberId];
  held = Object.entries(payload.memberAssignment)
    .flatMap(([topic, indexes]) => indexes.map((index) => [topic, index]))
    .sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : a[1] - b[1]));
  emit("assigned", { partitions: held });
});
consumer.on(events.HEARTBEAT, ({ payload }) => {
  // The generation is told by the first heartbeat in it.
  membership = [Number(payload.groupGenerationId), payload.memberId];
  look();
});
consumer.on(events.COMMIT_OFFSETS, ({ payload }) => {
  const offsets = payload.topics.flatMap(({ topic, partitions }) =>
    partitions.map(({ partition, offset }) => [topic, Number(partition), Number(offset)]),
  );
  emit("committed", { offsets });
});
consumer.on(events.CRASH, ({ payload }) => fail("crash", payload.error));

async function subscribe(topics) {
  await consumer.connect();
  await consumer.subscribe({ topics, fromBeginning: settings.auto_offset_reset === "earliest" });
  await consumer.run({
    autoCommitThreshold: 1,
    eachMessage: async ({ topic, partition, message }) => {
      positions.set(`${topic}/${partition}`, [topic, partition, Number(message.offset) + 1]);
      const at = { partition: [topic, partition], offset: Number(message.offset) };
      emit("record", { ...at, value: message.value.toString() });
    },
  });
}

async function commit() {
  const offsets = [...positions.values()];
  await consumer.commitOffsets(
    offsets.map(([topic, partition, offset]) => ({ topic, partition, offset: String(offset) })),
  );
}

async function committed(partitions) {
  const admin = kafka.admin();
  await admin.connect();
  const topics = [...new Set(partitions.map(([topic]) => topic))];
  const found = await admin.fetchOffsets({ groupId: settings.group_id, topics });
  await admin.disconnect();
  const offsets = found.flatMap(({ topic, partitions: each }) =>
    each.map(({ partition, offset }) => [topic, partition, Number(offset) < 0 ? null : Number(offset)]),
  );
  emit("fetched", { offsets });
}

async function obey(command) {
  if (command.do === "subscribe") await subscribe(command.topics);
  else if (command.do === "commit") await commit();
  else if (command.do === "committed") await committed(command.partitions);
  else if (command.do === "close") {
    await consumer.stop();
    giveUp();
    await consumer.disconnect();
    emit("closed");
    process.exit(0);
  } else throw new Error(`it does not know ${command.do}`);
}

let before = Promise.resolve();
const lines = readline.createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const command = JSON.parse(line);
  before = before.then(() => obey(command)).catch((error) => fail(command.do, error));
});
lines.on("close", () => process.exit(1));
emit("started");
