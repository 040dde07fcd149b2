package changelog

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moorage-dev/moorage/internal/redact"
)

const canary = "Hunter2CANARYxyz"

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()

	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}

	return u
}

func TestImage(t *testing.T) {
	long := strings.Repeat("x", MaxImage)

	cases := map[string]struct {
		reason string
		in     string
		masks  []Masker
		want   string
	}{
		"Plain": {
			reason: "What is no secret stays as it is.",
			in:     `{"kind":"Disk","spec":{"n":1234567,"on":true,"q":"a<b","none":null,"l":[1,"x"]}}`,
			want:   `{"kind":"Disk","spec":{"l":[1,"x"],"n":1234567,"none":null,"on":true,"q":"a<b"}}`,
		},
		"Metadata": {
			reason: "Bookkeeping of others goes, other annotations stay.",
			in: `{"metadata":{"name":"a","managedFields":[{"manager":"x"}],"annotations":{"kubectl.kubernetes.io/` +
				`last-applied-configuration":"{}","a":"b"}},"spec":{}}`,
			want: `{"metadata":{"annotations":{"a":"b"},"name":"a"},"spec":{}}`,
		},
		"Key": {
			reason: "The value of a telling key goes, a number too, an empty one not.",
			in:     `{"spec":{"password":"CANARY","clientSecret":"CANARY","token":12345,"apiKey":""}}`,
			want:   `{"spec":{"apiKey":"","clientSecret":"[REDACTED]","password":"[REDACTED]","token":"[REDACTED]"}}`,
		},
		"Below": {
			reason: "So does all that is below it, but a switch.",
			in:     `{"spec":{"credentials":{"user":"CANARY","more":[{"x":"CANARY"}],"on":true}}}`,
			want:   `{"spec":{"credentials":{"more":[{"x":"[REDACTED]"}],"on":true,"user":"[REDACTED]"}}}`,
		},
		"Reference": {
			reason: "A reference is no secret.",
			in: `{"spec":{"credentials":{"source":"Secret","secretRef":{"name":"db","key":"url"}},"token":{"name":"t",` +
				`"key":"k"},"imagePullSecrets":[{"name":"r"}]}}`,
			want: `{"spec":{"credentials":{"secretRef":{"key":"url","name":"db"},"source":"Secret"},` +
				`"imagePullSecrets":[{"name":"r"}],"token":{"key":"k","name":"t"}}}`,
		},
		"NotOnlyName": {
			reason: "What has more than a reference has is none.",
			in:     `{"spec":{"token":{"name":"t","value":"CANARY"}}}`,
			want:   `{"spec":{"token":{"name":"[REDACTED]","value":"[REDACTED]"}}}`,
		},
		"Environment": {
			reason: "A pair of name and value is a key and its value.",
			in: `{"spec":{"env":[{"name":"DB_PASSWORD","value":"CANARY"},{"name":"HOST","value":"h"},{"key":"token",` +
				`"value":"CANARY"}]}}`,
			want: `{"spec":{"env":[{"name":"DB_PASSWORD","value":"[REDACTED]"},{"name":"HOST","value":"h"},` +
				`{"key":"token","value":"[REDACTED]"}]}}`,
		},
		"Annotation": {
			reason: "An annotation has a key as well.",
			in:     `{"metadata":{"annotations":{"example.com/api-token":"CANARY"}},"spec":{}}`,
			want:   `{"metadata":{"annotations":{"example.com/api-token":"[REDACTED]"}},"spec":{}}`,
		},
		"Look": {
			reason: "In a text it is known by its place.",
			in: `{"spec":{"url":"nats://bob:CANARY@h:4222"},"status":{"conditions":[{"message":"password=CANARY ` +
				`refused"}]}}`,
			want: `{"spec":{"url":"nats://[REDACTED]@h:4222"},"status":{"conditions":[{"message":"password=[REDACTED] ` +
				`refused"}]}}`,
		},
		"Mask": {
			reason: "What is known goes from anywhere, keys included.",
			in:     `{"spec":{"note":"it is CANARY now","CANARY":1}}`,
			masks:  []Masker{redact.NewMask([]byte(canary))},
			want:   `{"spec":{"[REDACTED]":1,"note":"it is [REDACTED] now"}}`,
		},
		"Secret": {
			reason: "A Secret has nothing else.",
			in:     `{"apiVersion":"v1","kind":"Secret","data":{"a":"CANARY"},"stringData":{"b":"CANARY"}}`,
			want:   `{"apiVersion":"v1","data":{"a":"[REDACTED]"},"kind":"Secret","stringData":{"b":"[REDACTED]"}}`,
		},
		"Long": {
			reason: "An image is bounded.",
			in: `{"apiVersion":"a/v1","kind":"B","metadata":{"name":"n","uid":"u","generation":3,"labels":{"a":"b"}},` +
				`"spec":{"l":["` + strings.Repeat(long[:16000]+`","`, 5) + `"]}}`,
			want: `{"apiVersion":"a/v1","kind":"B","metadata":{"generation":3,"name":"n","uid":"u"},"omitted":"the image ` +
				`has 80133 bytes, more than 65536"}`,
		},
		"LongText": {
			reason: "So is a text in it.", in: `{"spec":{"t":"` + long + `"}}`,
			want: `{"spec":{"t":"` + long[:maxTextLength-15] + `... (truncated)"}}`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := object(t, strings.ReplaceAll(tc.in, "CANARY", canary))
			before := u.DeepCopy()

			got, err := Image(u, tc.masks...)
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(before, u); diff != "" {
				t.Errorf("The object was changed: -before, +after:\n%s", diff)
			}

			if diff := cmp.Diff(string(got), string(redactedImage(got))); diff != "" {
				t.Errorf("An image is not stable: -once, +twice:\n%s", diff)
			}
		})
	}
}

func TestImageOfTypedObjects(t *testing.T) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{"a": []byte(canary)},
		StringData: map[string]string{"b": canary},
	}

	cases := map[string]struct {
		reason string
		obj    runtime.Object
		want   string
	}{
		"Nil":      {reason: "Nothing has no image."},
		"TypedNil": {reason: "Nor has a nil pointer.", obj: (*corev1.Secret)(nil)},
		"Secret": {
			reason: "A typed Secret is known without its kind.", obj: secret,
			want: `{"data":{"a":"[REDACTED]"},"metadata":{"name":"s"},"stringData":{"b":"[REDACTED]"}}`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Image(tc.obj)
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// FuzzImage takes any object, and adds a secret at a known place.
func FuzzImage(f *testing.F) {
	f.Add(`{"spec":{"a":[1,"x",null,true,{"name":"token","value":{"b":2}}]}}`, "password")
	f.Add(`{"metadata":{"annotations":{"token: x":"password=y"},"managedFields":1},"data":[]}`, "a-token")
	f.Add(`{"metadata":[],"kind":7}`, "credentials")
	f.Add(`[{"credentials":{"secretRef":{"name":"a"}}}]`, "note")

	f.Fuzz(func(t *testing.T, text, key string) {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil || strings.Contains(text, canary[:8]) {
			return
		}

		o := map[string]any{"spec": v, "status": map[string]any{key: canary}}
		m := redact.NewMask([]byte(canary))

		got, err := Image(&unstructured.Unstructured{Object: o}, m)
		if err != nil {
			t.Fatal(err)
		}

		if strings.Contains(string(got), canary) || len(got) > MaxImage || !json.Valid(got) {
			t.Fatalf("%d bytes, or no JSON, or a secret: %s", len(got), got)
		}

		if again := redactedImage(got); string(again) != string(got) {
			t.Fatalf("Not stable: %s -> %s", got, again)
		}
	})
}
