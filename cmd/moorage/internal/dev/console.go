package dev

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// repeatAfter is how long a line of a log is not shown again.
const repeatAfter = time.Minute

// A console shows the log of a provider to people: a line of JSON becomes a line of text, lines about the internals
// of controllers are left out, and a repeated line is shown once a minute. Each other line is shown as it is. It must
// not be used concurrently. Use newConsole.
type console struct {
	now func() time.Time

	shown  map[string]repetition // by the line without its time
	events map[string]time.Time  // by the message, the time of the last
}

// A repetition is when a line was shown last, and how often it came since.
type repetition struct {
	at    time.Time
	since int
}

func newConsole(now func() time.Time) *console {
	return &console{now: now, shown: map[string]repetition{}, events: map[string]time.Time{}}
}

// text returns the line to show, if any.
func (c *console) text(line []byte) (string, bool) {
	var e entry
	if err := json.Unmarshal(line, &e); err != nil || e["msg"] == nil {
		return string(line), true
	}

	if e.internal() || c.reported(e) {
		return "", false
	}

	text, now := e.String(), c.now()

	was, known := c.shown[text]
	if known && now.Sub(was.at) < repeatAfter {
		was.since++
		c.shown[text] = was

		return "", false
	}

	maps.DeleteFunc(c.shown, func(_ string, r repetition) bool { return r.since == 0 && now.Sub(r.at) >= repeatAfter })

	c.shown[text] = repetition{at: now}
	if was.since > 0 {
		return fmt.Sprintf("%s %s (%d times since %s)", e.time(), text, was.since+1, was.at.Format(time.TimeOnly)), true
	}

	return e.time() + " " + text, true
}

// reported reports whether a line is the error of a reconcile that an event has reported within the last minute. It
// remembers the messages of events.
func (c *console) reported(e entry) bool {
	now := c.now()

	if message, ok := e["message"].(string); ok && e["reason"] != nil {
		c.events[message] = now

		return false
	}

	failure, ok := e["err"].(string) // the key of logr with a handler of slog
	if !ok {
		failure, ok = e["error"].(string)
	}

	if !ok || e["msg"] != "Reconciler error" {
		return false
	}

	for message, at := range c.events {
		switch {
		case now.Sub(at) >= repeatAfter:
			delete(c.events, message)
		case strings.Contains(message, failure) || strings.Contains(failure, message):
			return true
		}
	}

	return false
}

// An entry is a line of a log, by its keys.
type entry map[string]any

// internal reports whether a line is about the internals of a controller.
func (e entry) internal() bool {
	msg := fmt.Sprint(e["msg"])

	return slices.ContainsFunc([]string{
		"Starting EventSource", "Starting Controller", "Starting workers", "Reconciler made",
		"Stopping and waiting for", "All workers finished", "Shutdown signal received", "metadata.finalizers: ",
	}, func(prefix string) bool { return strings.HasPrefix(msg, prefix) })
}

// time returns the time of the line in this time zone.
func (e entry) time() string {
	at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(e["time"]))
	if err != nil {
		return "--:--:--"
	}

	return at.Local().Format(time.TimeOnly)
}

// hidden are the keys that are not shown, because they repeat others or differ for each pass.
func hidden() []string {
	return []string{
		"time", "level", "msg", "controller", "controllerGroup", "controllerKind", "reconcileID", "uid", "version", "object",
		"namespace", "name", "type", "reason", "message",
	}
}

// String returns the line without its time: the level, the object, the message, and all other keys, sorted.
func (e entry) String() string {
	level := fmt.Sprint(e["level"])
	if e["type"] == "Warning" {
		level = "WARN" // an event
	}

	words := []string{fmt.Sprintf("%-5s", level)}
	if about := e.about(); about != "" {
		words = append(words, about+":")
	}

	if e["reason"] != nil && e["message"] != nil {
		words = append(words, fmt.Sprint(e["reason"])+":", fmt.Sprint(e["message"]))
	} else {
		words = append(words, fmt.Sprint(e["msg"]))
	}

	for _, key := range slices.Sorted(maps.Keys(e)) {
		value := e[key]
		if _, ok := value.(map[string]any); ok || slices.Contains(hidden(), key) {
			continue // an object is shown by its name
		}

		words = append(words, fmt.Sprintf("%s=%v", key, value))
	}

	return strings.Join(words, " ")
}

// about returns what a line is about: the plural or the kind, and the object.
func (e entry) about() string {
	kind, _ := e["controllerKind"].(string)
	if kind == "" {
		controller, _ := e["controller"].(string)
		_, plural, _ := strings.Cut(controller, "/")
		kind, _, _ = strings.Cut(plural, ".")
	}

	object, _ := e["object"].(string)
	if name, ok := e["name"].(string); object == "" && ok {
		namespace, _ := e["namespace"].(string)
		object = namespace + "/" + name
	}

	return strings.TrimSpace(strings.ToLower(kind) + " " + strings.TrimPrefix(object, "/"))
}
