"""Raster data: conversion between arrays and files of images and masks."""
