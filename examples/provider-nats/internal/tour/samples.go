package tour

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/examples/provider-nats/examples"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// samplesCost is the limit of requests for the samples: two requests each, one for a Secret, and two for
// each consumer to report that it waits for its stream.
const samplesCost = 6*2 + 1 + 2*2

// samples are the objects of the sample manifests.
func samples(namespace string) ([]client.Object, error) {
	var all []client.Object

	for _, manifest := range []string{examples.Consumers, examples.Streams, examples.KeyValue, examples.ObjectStore} {
		documents := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), len(manifest))

		for {
			u := &unstructured.Unstructured{}
			if err := documents.Decode(u); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, errors.Wrap(err, "cannot read the sample manifests")
			}

			u.SetNamespace(namespace)
			all = append(all, u)
		}
	}

	return all, nil
}

func (t *Tour) applySamples(ctx context.Context) error {
	samples, err := samples(t.o.Namespace)
	if err != nil {
		return err
	}

	for _, sample := range samples {
		if err := t.env.Client.Create(ctx, sample); err != nil {
			return errors.Wrapf(err, "cannot apply %s", sample.GetName())
		}
	}

	return nil
}

func (t *Tour) samplesReady(ctx context.Context) (string, error) {
	var lines []string

	for _, s := range []struct {
		obj    object
		stream string
	}{
		{t.stream("orders"), "orders"}, {t.stream("audit"), "AUDIT_LOG"}, {t.bucket("sessions"), "KV_sessions"},
		{t.objects("invoices"), "OBJ_invoices"},
	} {
		if err := t.ready(ctx, s.obj); err != nil {
			return "", err
		}

		info, err := t.owned(ctx, s.stream, s.obj)
		if err != nil {
			return "", err
		}

		lines = append(lines, fmt.Sprintf("%s %s is Ready; NATS has stream %s since %s",
			kindOf(s.obj), s.obj.GetName(), s.stream, info.Created.Local().Format(time.TimeOnly)))
	}

	consumers, err := t.consumersReady(ctx)

	return strings.Join(append(lines, consumers...), "\n"), err
}

// consumersReady checks that consumers that were created before their streams are Ready, and the connection
// details for applications.
func (t *Tour) consumersReady(ctx context.Context) ([]string, error) {
	var lines []string

	for name, stream := range map[string]string{"billing": "orders", "dashboard": "AUDIT_LOG"} {
		c := t.consumer(name)
		if err := t.ready(ctx, c); err != nil {
			return nil, err
		}

		if err := t.consumes(ctx, stream, c); err != nil {
			return nil, err
		}

		lines = append(lines,
			fmt.Sprintf("%s %s is Ready; it waited for stream %s, and NATS has it", kindOf(c), name, stream))
	}

	slices.Sort(lines)

	stream, err := t.connection(ctx, "orders-connection", "stream")
	if err == nil && stream != "orders" {
		err = errors.Errorf("the connection Secret names the stream %q, want orders", stream)
	}

	return append(lines, "Secret orders-connection has the address of stream "+stream+" for applications"), err
}
