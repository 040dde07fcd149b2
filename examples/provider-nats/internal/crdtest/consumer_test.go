package crdtest

import (
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
)

// TestCreateConsumer: the API server refuses specs that NATS would refuse.
func TestCreateConsumer(t *testing.T) {
	cases := map[string]struct{ reason, asked, want string }{
		"Empty":    {"of which stream?", ``, "one of stream, streamRef and streamSelector must say which stream it is"},
		"Stream":   {"by name", `stream: S`, ""},
		"Ref":      {"by reference", `streamRef: {name: s}`, ""},
		"Selector": {"by labels", `streamSelector: {matchLabels: {a: b}}`, ""},
		"Policy":   {"enumerations", `stream: S, deliverPolicy: maybe`, `Unsupported value: "maybe"`},
		"Sequence": {
			"where to start?",
			`stream: S, deliverPolicy: byStartSequence`, "deliverPolicy byStartSequence and optStartSeq need each other",
		},
		"Sequence2": {
			"to start, or not?",
			`stream: S, optStartSeq: 4`, "deliverPolicy byStartSequence and optStartSeq need each other",
		},
		"Time": {
			"when to start?",
			`stream: S, deliverPolicy: byStartTime`, "deliverPolicy byStartTime and optStartTime need each other",
		},
		"TimeZone": {
			"a time needs a zone",
			`stream: S, deliverPolicy: byStartTime, optStartTime: "2026-01-02T03:04:05"`, "should match",
		},
		"TimeOK": {"now we know", `stream: S, deliverPolicy: byStartTime, optStartTime: "2026-01-02T03:04:05Z"`, ""},
		"LastPer": {
			"of which subjects?",
			`stream: S, deliverPolicy: lastPerSubject`, "deliverPolicy lastPerSubject needs filterSubjects",
		},
		"LastPerOK": {"of these", `stream: S, deliverPolicy: lastPerSubject, filterSubjects: [a]`, ""},
		"Filters":   {"subjects are a set", `stream: S, filterSubjects: [a, a]`, "Duplicate value"},
		"BackOff":   {"one of them rules", `stream: S, backOff: [1s], ackWait: 1s`, "backOff and ackWait exclude each other"},
		"BackOffs": {
			"the last would never be used",
			`stream: S, backOff: [1s, 2s, 3s], maxDeliver: 2`, "backOff must not have more steps than maxDeliver",
		},
		"BackOffOK": {"no limit", `stream: S, backOff: [1s, 2s, 3s], maxDeliver: -1`, ""},
		"Pending": {
			"NATS takes zero for its default",
			`stream: S, maxAckPending: 0`, "maxAckPending must be -1 or at least 1",
		},
		"Expires": {
			"NATS counts from 1ms",
			`stream: S, maxRequestExpires: 10us`, "maxRequestExpires must be 0s or at least 1ms",
		},
		"Duration": {"what Go cannot read must not be stored", `stream: S, ackWait: 2 days`, "should match"},
		"Sample":   {"a share", `stream: S, samplePercent: 101`, "should be less than or equal to 100"},
		"Wildcard": {"to one subject", `stream: S, push: {deliverSubject: "a.*"}`, "should match"},
		"PushPull": {"pull or push", `stream: S, push: {deliverSubject: a}, maxWaiting: 3`, "push excludes maxWaiting"},
		"PushPin": {
			"pull or push",
			`stream: S, push: {deliverSubject: a}, priorityPolicy: overflow, priorityGroups: [b]`, "push excludes maxWaiting",
		},
		"Flow": {
			"the server asks by heartbeats",
			`stream: S, push: {deliverSubject: a, flowControl: true}`, "flowControl needs idleHeartbeat",
		},
		"Heartbeat": {
			"NATS counts from 100ms",
			`stream: S, push: {deliverSubject: a, idleHeartbeat: 1ms}`, "idleHeartbeat must be 0s or at least 100ms",
		},
		"Groups":    {"for what?", `stream: S, priorityGroups: [b]`, "priorityPolicy and priorityGroups need each other"},
		"Priority":  {"of whom?", `stream: S, priorityPolicy: overflow`, "priorityPolicy and priorityGroups need each other"},
		"GroupName": {"as NATS has it", `stream: S, priorityPolicy: overflow, priorityGroups: ["a b"]`, "should match"},
		"Pin":       {"of a pinned client", `stream: S, pinnedTTL: 1m`, "pinnedTTL needs priorityPolicy pinnedClient"},
		"PinOK": {
			"of a pinned client",
			`stream: S, pinnedTTL: 1m, priorityPolicy: pinnedClient, priorityGroups: [a]`, "",
		},
		"AckFlow": {"pushed", `stream: S, ackPolicy: flowControl`, "ackPolicy flowControl needs push"},
		"AckFlowHB": {
			"a heartbeat of one second",
			`stream: S, ackPolicy: flowControl, maxAckPending: 3, push: {deliverSubject: a, idleHeartbeat: 5s}`,
			"an idleHeartbeat of 1s",
		},
		"AckFlowOK": {"as NATS has it", `stream: S, ackPolicy: flowControl, maxAckPending: 3, push: {deliverSubject: a}`, ""},
		"NoAck": {
			"nothing is pending without acknowledgements",
			`stream: S, ackPolicy: none, maxAckPending: 3, push: {deliverSubject: a}`,
			"maxAckPending needs an ackPolicy other than none",
		},
		"Metadata": {"keys of the server", `stream: S, metadata: {_nats.ver: "1"}`, "are reserved"},
		"Stamp":    {"the owner's mark is reserved", `stream: S, metadata: {moorage.dev/owner: me}`, "are reserved"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := object(t, "kind: "+v1alpha1.ConsumerKind+"\nspec: {forProvider: {"+tc.asked+"}}")
			check(t, tc.reason, dryRun(t, obj), tc.want)
		})
	}
}

// TestUpdateConsumer: a field that NATS does not change cannot be changed.
func TestUpdateConsumer(t *testing.T) {
	cases := map[string]struct{ reason, change, want string }{
		"Stream":     {"refused", `stream: S -> stream: T`, "stream cannot be changed"},
		"StreamGone": {"the provider refuses a reference to another stream", `stream: S -> streamRef: {name: t}`, ""},
		"RefOther": {
			"refused", `streamRef: {name: s}, stream: S -> streamRef: {name: t}, stream: S`,
			"streamRef cannot name another Stream",
		},
		"RefFirst":  {"nothing was found yet", `streamRef: {name: s} -> streamRef: {name: t}`, ""},
		"StreamSet": {"found", `streamRef: {name: s} -> streamRef: {name: s}, stream: S`, ""},
		"Deliver": {
			"refused", `stream: S, deliverPolicy: all -> stream: S, deliverPolicy: new`, "deliverPolicy cannot be changed",
		},
		"Seq": {
			"refused",
			`stream: S, deliverPolicy: byStartSequence, optStartSeq: 1 -> ` +
				`stream: S, deliverPolicy: byStartSequence, optStartSeq: 2`,
			"optStartSeq cannot be changed",
		},
		"Ack": {"refused", `stream: S, ackPolicy: all -> stream: S, ackPolicy: none`, "ackPolicy cannot be changed"},
		"Replay": {
			"refused", `stream: S, replayPolicy: instant -> stream: S, replayPolicy: original`, "replayPolicy cannot be changed",
		},
		"Memory": {
			"refused", `stream: S, memoryStorage: true -> stream: S, memoryStorage: false`, "memoryStorage cannot be changed",
		},
		"Waiting": {"refused", `stream: S, maxWaiting: 1 -> stream: S, maxWaiting: 2`, "maxWaiting cannot be changed"},
		"Push": {
			"refused", `stream: S -> stream: S, push: {deliverSubject: a}`, "push cannot be given or removed later",
		},
		"Pull": {
			"refused", `stream: S, push: {deliverSubject: a} -> stream: S`, "push cannot be given or removed later",
		},
		"Subject": {"allowed", `stream: S, push: {deliverSubject: a} -> stream: S, push: {deliverSubject: b}`, ""},
		"Heartbeat": {
			"refused",
			`stream: S, push: {deliverSubject: a, idleHeartbeat: 1s} -> stream: S, push: {deliverSubject: a, idleHeartbeat: 2s}`,
			"push.idleHeartbeat cannot be changed",
		},
		"AckWait": {"allowed", `stream: S, ackWait: 1s -> stream: S, ackWait: 2s`, ""},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before, after, _ := strings.Cut(tc.change, " -> ")
			check(t, tc.reason, change(t, v1alpha1.ConsumerKind, before, after), tc.want)
		})
	}
}
