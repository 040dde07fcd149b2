package jsconfig

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// A Difference is one field that is not as desired.
type Difference struct {
	// Path of the field, as the kinds Stream and Consumer name it.
	Path string

	// Desired and Observed are the values as JSON, or empty if there is none.
	Desired, Observed string
}

// Differences are the fields that are not as desired, sorted by path. None
// means that an update would change nothing.
type Differences []Difference

// String returns one line for each difference.
func (d Differences) String() string {
	lines := make([]string, 0, len(d))
	for _, one := range d {
		lines = append(lines, fmt.Sprintf("%s: desired %s, observed %s", one.Path, orNone(one.Desired), orNone(one.Observed)))
	}

	return strings.Join(lines, "\n")
}

// Renamed returns the differences with the paths of a kind whose objects are streams, sorted by path. The argument has
// the field of that kind for fields of a stream. Other fields keep their paths: they have the same name in both kinds,
// or the clients of NATS rely on them, and users cannot set them.
func (d Differences) Renamed(fields map[string]string) Differences {
	out := slices.Clone(d)

	for i, one := range out {
		name, rest, _ := strings.Cut(one.Path, ".")
		if field, ok := fields[name]; ok {
			out[i].Path = strings.TrimSuffix(field+"."+rest, ".")
		}
	}

	slices.SortFunc(out, func(a, b Difference) int { return strings.Compare(a.Path, b.Path) })

	return out
}

// KeyValueFields returns the fields of a KeyValue by the fields of its stream, for those that have other names.
func KeyValueFields() map[string]string {
	return map[string]string{
		"maxAge": "ttl", "maxMsgsPerSubject": "history", "maxMsgSize": "maxValueSize",
		"subjectDeleteMarkerTTL": "limitMarkerTTL",
	}
}

// ObjectStoreFields returns the fields of an ObjectStore by the fields of its stream, for those that have other names.
func ObjectStoreFields() map[string]string { return map[string]string{"maxAge": "ttl"} }

func orNone(value string) string {
	if value == "" {
		return "none"
	}

	return value
}

// Diff returns the fields in which the two configurations differ. Metadata of the server and the order of
// subjects and sources do not count.
func Diff(desired, observed *jetstream.StreamConfig) (Differences, error) {
	return differences(fields, desired, observed)
}

// ConsumerDiff returns the fields in which the two configurations differ. Metadata of the server and the
// order of filter subjects do not count.
func ConsumerDiff(desired, observed *jetstream.ConsumerConfig) (Differences, error) {
	return differences(consumerFields, desired, observed)
}

// differences compares two flattened configurations.
func differences[C any](flat func(*C) (map[string]string, error), desired, observed *C) (Differences, error) {
	want, err := flat(desired)
	if err != nil {
		return nil, err
	}

	got, err := flat(observed)
	if err != nil {
		return nil, err
	}

	paths := maps.Clone(got)
	maps.Copy(paths, want)

	var out Differences

	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if want[path] != got[path] {
			out = append(out, Difference{Path: path, Desired: want[path], Observed: got[path]})
		}
	}

	return out, nil
}

// fields flattens a configuration: from path to value as JSON.
func fields(cfg *jetstream.StreamConfig) (map[string]string, error) {
	p := StreamParameters(cfg)
	p.Subjects = slices.Sorted(slices.Values(p.Subjects))

	list, err := each(p.Sources)
	if err != nil {
		return nil, err
	}

	slices.Sort(list)
	p.Sources = nil

	out, err := image(p, cfg.Metadata)
	if err == nil && len(list) > 0 {
		out["sources"] = "[" + strings.Join(list, ",") + "]"
	}

	return out, err
}

// consumerFields flattens a configuration: from path to value as JSON. Durability has no field of its own.
func consumerFields(cfg *jetstream.ConsumerConfig) (map[string]string, error) {
	p := ConsumerParameters(cfg)
	p.FilterSubjects = slices.Sorted(slices.Values(p.FilterSubjects))

	out, err := image(p, cfg.Metadata)
	if err == nil {
		out["durable"] = strconv.FormatBool(cfg.Durable != "")
	}

	return out, err
}

// image flattens parameters, and adds the owner's mark of the metadata.
func image(parameters any, metadata map[string]string) (map[string]string, error) {
	text, err := json.Marshal(parameters)
	if err != nil {
		return nil, errors.Wrap(err, "cannot write parameters as JSON")
	}

	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, errors.Wrap(err, "cannot read parameters as JSON")
	}

	out := map[string]string{}
	if owner := metadata[managed.StampKey]; owner != "" {
		out["metadata."+managed.StampKey] = fmt.Sprintf("%q", owner)
	}

	return out, flatten(out, "", tree)
}

// each returns the elements of a list as JSON.
func each[T any](list []T) ([]string, error) {
	out := make([]string, 0, len(list))

	for _, item := range list {
		image, err := json.Marshal(item)
		if err != nil {
			return nil, errors.Wrap(err, "cannot write an element as JSON")
		}

		out = append(out, string(image))
	}

	return out, nil
}

func flatten(out map[string]string, prefix string, tree map[string]any) error {
	for key, value := range tree {
		if branch, ok := value.(map[string]any); ok {
			if err := flatten(out, prefix+key+".", branch); err != nil {
				return err
			}

			continue
		}

		image, err := json.Marshal(value)
		if err != nil {
			return errors.Wrapf(err, "cannot write %s as JSON", prefix+key)
		}

		out[prefix+key] = string(image)
	}

	return nil
}
