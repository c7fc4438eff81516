package test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
)

// result is what a stream of items told.
type result struct {
	id, stdout, stderr string
	start, exit        object
	ended              bool
	dropped            float64
	cursor             float64
	pieces             int
}

func (r result) code() any { return r.exit["exit_code"] }

var lastID atomic.Int64

// exec runs a command to its end and answers what its stream told.
func (g *guest) exec(spec object) result {
	g.t.Helper()
	if spec["id"] == nil {
		spec["id"] = fmt.Sprintf("p%d", lastID.Add(1))
	}
	body, err := json.Marshal(spec)
	must(g.t, err)
	response, err := g.client.Post("http://guest/v1/processes?follow=1", "application/json", bytes.NewReader(body))
	must(g.t, err)
	r := g.items(response)
	r.id = spec["id"].(string)
	return r
}

// output reads a process's stream.
func (g *guest) output(id, query string) result {
	g.t.Helper()
	response, err := g.client.Get("http://guest/v1/processes/" + id + "/output?" + query)
	must(g.t, err)
	r := g.items(response)
	r.id = id
	return r
}

// rest reads a stream of which the beginning has been read.
func (g *guest) rest(beginning []byte, response *http.Response) result {
	g.t.Helper()
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(beginning), response.Body), response.Body}
	return g.items(response)
}

// items reads a stream, checking that every item's cursor follows from the one before.
func (g *guest) items(response *http.Response) (r result) {
	g.t.Helper()
	defer response.Body.Close()
	if response.StatusCode != 200 {
		text, _ := io.ReadAll(response.Body)
		g.t.Fatalf("stream: %d %s", response.StatusCode, text)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var item struct {
			Type    string
			Cursor  float64
			Data    []byte
			Dropped float64 `json:"dropped_bytes"`
		}
		must(g.t, json.Unmarshal(lines.Bytes(), &item))
		if r.ended {
			g.t.Fatalf("after the end: %s", lines.Text())
		}
		switch item.Type {
		case "start":
			must(g.t, json.Unmarshal(lines.Bytes(), &r.start))
		case "stdout":
			r.stdout += string(item.Data)
		case "stderr":
			r.stderr += string(item.Data)
		case "dropped":
			r.dropped += item.Dropped
		case "exit":
			must(g.t, json.Unmarshal(lines.Bytes(), &r.exit))
		case "end":
			r.ended = true
		default:
			g.t.Fatalf("item: %s", lines.Text())
		}
		if len(item.Data) > 32<<10 {
			g.t.Fatalf("an item of %d bytes", len(item.Data))
		}
		if want := r.cursor + float64(len(item.Data)) + item.Dropped; r.pieces > 0 && item.Cursor != want {
			g.t.Fatalf("cursor %v, want %v: %.100s", item.Cursor, want, lines.Text())
		}
		r.cursor = item.Cursor
		r.pieces++
	}
	must(g.t, lines.Err())
	return r
}
