// Package harbour talks to the office of a harbour.
package harbour

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// A Berth is one as the harbour office has it.
type Berth struct {
	Name   string `json:"name"`
	Metres int32  `json:"metres"`
	Power  bool   `json:"power"`
	Note   string `json:"note"`           // anything the owner wants to remember
	Ship   string `json:"ship,omitempty"` // who lies there; the office says so
}

// What the office answers when it does not do what it is asked.
var (
	ErrNotFound = errors.New("there is no such berth")
	ErrTaken    = errors.New("there is a berth of that name already")
	ErrRefused  = errors.New("the harbour does not have such a berth to give")
)

// A Client of the office. It may be used concurrently.
type Client struct {
	URL   string
	Token string
}

// Get returns a berth.
func (c Client) Get(ctx context.Context, name string) (Berth, error) {
	var b Berth

	return b, c.call(ctx, http.MethodGet, "/berths/"+name, nil, &b)
}

// Create a berth.
func (c Client) Create(ctx context.Context, b Berth) error {
	return c.call(ctx, http.MethodPost, "/berths", b, nil)
}

// Update a berth.
func (c Client) Update(ctx context.Context, b Berth) error {
	return c.call(ctx, http.MethodPatch, "/berths/"+b.Name, b, nil)
}

// Delete a berth.
func (c Client) Delete(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, "/berths/"+name, nil, nil)
}

func (c Client) call(ctx context.Context, method, path string, body, answer any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.Token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotFound:
		return ErrNotFound
	case response.StatusCode == http.StatusConflict:
		return ErrTaken
	case response.StatusCode == http.StatusUnprocessableEntity:
		return ErrRefused
	case response.StatusCode >= 300:
		return fmt.Errorf("%s %s: the harbour answers %s", method, path, response.Status)
	case answer != nil:
		return json.NewDecoder(response.Body).Decode(answer)
	default:
		return nil
	}
}
