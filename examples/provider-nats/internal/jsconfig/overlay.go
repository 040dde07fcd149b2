package jsconfig

import (
	"maps"
	"math"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// serverPrefix is the prefix of the metadata keys of the server.
const serverPrefix = "_nats."

// put sets dst if the user has set a value.
func put[T any](dst, value *T) {
	if value != nil {
		*dst = *value
	}
}

func putInt(dst *int, value *int32) {
	if value != nil {
		*dst = int(*value)
	}
}

func putDuration(dst *time.Duration, value *v1alpha1.Duration) {
	if value != nil {
		*dst = value.Duration.Duration
	}
}

// putLimit sets dst to a number of bytes. Every value below 1 is no limit.
func putLimit(dst *int64, value *resource.Quantity, largest int64, field string) error {
	if value == nil {
		return nil
	}

	bytes := value.Value()
	if bytes > largest {
		return errors.Errorf("%s is %s, and NATS allows at most %d bytes: choose less, or -1 for no limit",
			field, value, largest)
	}

	*dst = unlimited(bytes)

	return nil
}

func unlimited[T ~int | ~int32 | ~int64](limit T) T {
	if limit <= 0 {
		return -1
	}

	return limit
}

// first returns the first error: a user corrects one at a time.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}

	return nil
}

// A choice is one enumeration: its values in our API and in NATS.
type choice[T comparable] map[string]T

func (c choice[T]) put(dst *T, value *string, field string) error {
	if value == nil {
		return nil
	}

	v, ok := c[*value]
	if !ok {
		return errors.Errorf("%s has the unknown value %q", field, *value)
	}

	*dst = v

	return nil
}

func (c choice[T]) name(value T) *string {
	for name, v := range c {
		if v == value {
			return &name
		}
	}

	return nil
}

func retentions() choice[jetstream.RetentionPolicy] {
	return choice[jetstream.RetentionPolicy]{
		v1alpha1.RetentionLimits:    jetstream.LimitsPolicy,
		v1alpha1.RetentionInterest:  jetstream.InterestPolicy,
		v1alpha1.RetentionWorkQueue: jetstream.WorkQueuePolicy,
	}
}

func storages() choice[jetstream.StorageType] {
	return choice[jetstream.StorageType]{
		v1alpha1.StorageFile:   jetstream.FileStorage,
		v1alpha1.StorageMemory: jetstream.MemoryStorage,
	}
}

func discards() choice[jetstream.DiscardPolicy] {
	return choice[jetstream.DiscardPolicy]{
		v1alpha1.DiscardOld: jetstream.DiscardOld,
		v1alpha1.DiscardNew: jetstream.DiscardNew,
	}
}

func compressions() choice[jetstream.StoreCompression] {
	return choice[jetstream.StoreCompression]{
		v1alpha1.CompressionNone: jetstream.NoCompression,
		v1alpha1.CompressionS2:   jetstream.S2Compression,
	}
}

func persistModes() choice[jetstream.PersistModeType] {
	return choice[jetstream.PersistModeType]{
		v1alpha1.PersistModeDefault: jetstream.DefaultPersistMode,
		v1alpha1.PersistModeAsync:   jetstream.AsyncPersistMode,
	}
}

func placement(p *v1alpha1.Placement) *jetstream.Placement {
	if p == nil || (p.Cluster == "" && len(p.Tags) == 0) {
		return nil
	}

	return &jetstream.Placement{Cluster: p.Cluster, Tags: p.Tags}
}

func subjectTransform(t *v1alpha1.SubjectTransform) *jetstream.SubjectTransformConfig {
	if t == nil {
		return nil
	}

	return &jetstream.SubjectTransformConfig{Source: t.Source, Destination: t.Destination}
}

func republish(r *v1alpha1.Republish) *jetstream.RePublish {
	if r == nil {
		return nil
	}

	out := &jetstream.RePublish{Source: r.Source, Destination: r.Destination, HeadersOnly: r.HeadersOnly}
	if out.Source == "" {
		out.Source = ">"
	}

	return out
}

func source(s *v1alpha1.Source) *jetstream.StreamSource {
	if s == nil {
		return nil
	}

	out := &jetstream.StreamSource{Name: s.Name, FilterSubject: s.FilterSubject}

	if s.OptStartSeq != nil {
		out.OptStartSeq = uint64(*s.OptStartSeq) // The CRD refuses what is below 1.
	}

	if s.OptStartTime != nil {
		start := s.OptStartTime.Time.UTC()
		out.OptStartTime = &start
	}

	for _, t := range s.SubjectTransforms {
		out.SubjectTransforms = append(out.SubjectTransforms, *subjectTransform(&t))
	}

	switch {
	case s.External != nil:
		out.External = &jetstream.ExternalStream{APIPrefix: s.External.APIPrefix, DeliverPrefix: s.External.DeliverPrefix}
	case s.Domain != "":
		// NATS stores a domain as a prefix.
		out.External = &jetstream.ExternalStream{APIPrefix: domainPrefix + s.Domain + domainSuffix}
	}

	if s.Consumer != nil {
		out.Consumer = &jetstream.StreamConsumerSource{Name: s.Consumer.Name, DeliverSubject: s.Consumer.DeliverSubject}
	}

	return out
}

const (
	domainPrefix = "$JS."
	domainSuffix = ".API"
)

func sources(list []v1alpha1.Source) []*jetstream.StreamSource {
	var out []*jetstream.StreamSource
	for i := range list {
		out = append(out, source(&list[i]))
	}

	return out
}

// metadata returns the user's metadata and ours, and keeps those of the server. All others are dropped.
func metadata(observed, user, own map[string]string) map[string]string {
	out := make(map[string]string, len(user)+len(own))

	for k, v := range user {
		if !strings.HasPrefix(k, serverPrefix) {
			out[k] = v
		}
	}

	for k, v := range observed {
		if strings.HasPrefix(k, serverPrefix) {
			out[k] = v
		}
	}

	maps.Copy(out, own)

	return out
}

// largestMessage is the largest value of max_msg_size.
const largestMessage = math.MaxInt32
